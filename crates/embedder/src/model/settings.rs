//! Which model is used, and how.

use std::path::PathBuf;

use knowledgepulse_workers::available_cores;

use super::{
    files::{CONFIG, MANIFEST},
    package::{MOVED, PackageFolder},
};
use crate::{
    embed_error::{EmbedError, Result},
    pooling::Pooling,
};

/// The arithmetic of the model. Both use the same weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// float32: the scores of the published model.
    #[default]
    Exact,
    /// 8-bit integers, always on [`BackendKind::Native`]: in a third of the time with AVX-512 VNNI, in two thirds with
    /// AVX2 alone, with a small error.
    Fast,
}

/// The software that runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// The ONNX Runtime library.
    Onnx,
    /// This crate alone, for the built-in model.
    Native,
}

/// Properties of a custom model that take precedence over its folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelOptions {
    /// How the vectors of tokens are pooled.
    pub pooling: Option<Pooling>,
    /// Whether vectors are scaled to length 1. Default: yes, unless the folder lists modules without one for that.
    pub normalize: Option<bool>,
    /// The maximum number of tokens in a window, special ones included.
    pub max_tokens: Option<usize>,
    /// The text before each text. Default: the default prompt of the folder, or nothing.
    pub prefix: Option<String>,
    /// The output of the graph.
    pub output: Option<String>,
}

impl ModelOptions {
    /// Returns the name of an option that is given, if there is one.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let Self { pooling, normalize, max_tokens, prefix, output } = self;
        let given = [
            ("pooling", pooling.is_some()),
            ("normalize", normalize.is_some()),
            ("maxTokens", max_tokens.is_some()),
            ("prefix", prefix.is_some()),
            ("output", output.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// A model, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The folder with the built-in model, or why there is none.
    pub package: Result<PackageFolder>,
    /// The folder of another model. Default: the built-in one.
    pub model: Option<PathBuf>,
    /// The options of that model.
    pub options: ModelOptions,
    /// The software that runs the model. Default: this crate for the built-in model, ONNX Runtime for another one.
    pub backend: Option<BackendKind>,
    /// The ONNX Runtime library, for that backend, or why there is none. Default: none, until
    /// [`SharedModel::set_library`](crate::SharedModel::set_library).
    pub library: Result<PathBuf>,
    /// The requested precision.
    pub precision: Precision,
    /// The threads for a text that is alone, at least 1.
    pub threads: usize,
}

impl ModelSettings {
    /// Returns the default settings for the model of a package.
    pub fn of(package: Result<PackageFolder>) -> Self {
        Self {
            package,
            model: None,
            options: ModelOptions::default(),
            backend: None,
            library: no_library(),
            precision: Precision::default(),
            threads: available_cores(),
        }
    }

    /// Returns the folder of the model.
    ///
    /// # Errors
    ///
    /// It is that of the built-in model, and there is no package.
    pub fn folder(&self) -> Result<PathBuf> {
        self.model.clone().map_or_else(|| self.packaged(), Ok)
    }

    fn packaged(&self) -> Result<PathBuf> {
        self.package.as_ref().map(|package| package.join("model")).map_err(Clone::clone)
    }

    /// Returns whether the folder has the layout of the built-in model.
    pub(crate) fn is_built_in(&self) -> bool {
        self.model
            .as_ref()
            .is_none_or(|folder| folder.join(MANIFEST).exists() || !folder.join(CONFIG).exists())
    }

    /// Adds to the error of a missing file what users can do.
    pub(crate) fn advise(&self, error: EmbedError) -> EmbedError {
        let (path, what) = match &error {
            EmbedError::File { path, what } if matches!(path.try_exists(), Ok(false)) => {
                (path, what)
            }
            _ => return error,
        };
        match &self.model {
            None => EmbedError::file(path, format!("{what}; {MOVED}")),
            Some(_) if path.ends_with(MANIFEST) => {
                let what = format!("{what}; a custom model has {CONFIG}, which is missing too");
                EmbedError::file(path, what)
            }
            Some(_) => error,
        }
    }

    /// Sets the backend, and removes differences that have no effect: the native backend needs no library, runs every fast built-in model,
    /// and is exact if the int8 kernels are not faster on this machine.
    pub(crate) fn effective(mut self, is_int8_faster: bool) -> Self {
        let is_built_in = self.is_built_in();
        if !is_int8_faster && is_built_in {
            self.precision = Precision::Exact;
        }
        if is_built_in && self.precision == Precision::Fast {
            self.backend = Some(BackendKind::Native);
        }
        let backend = if is_built_in { BackendKind::Native } else { BackendKind::Onnx };
        self.backend.get_or_insert(backend);
        if self.backend == Some(BackendKind::Native) {
            self.library = no_library();
        }
        if self.model == self.packaged().ok() {
            self.model = None;
        }
        self
    }
}

fn no_library() -> Result<PathBuf> {
    Err(EmbedError::Library("none was named or found".into()))
}
