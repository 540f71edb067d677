//! Which model is used, and its folder.

pub(crate) mod files;
pub(crate) mod memo;
pub(crate) mod memory_probe;
pub(crate) mod shared_model;
pub(crate) mod tensors;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use knowledgepulse_workers::available_cores;

use crate::{
    EmbedError, Pooling, Result, Tokenizer,
    custom::{CONFIG, CustomFolder},
};
use files::{BuiltInFiles, MANIFEST, library_file_name};

/// The arithmetic of the model. Both use the same weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// float32: the scores of the published model.
    #[default]
    Exact,
    /// 8-bit integers, always on [`BackendKind::Native`]: about half the time, with a small error.
    Fast,
}

/// The software that runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// The ONNX Runtime library.
    Onnx,
    /// This crate alone.
    Native,
}

impl Default for BackendKind {
    /// There is no ONNX Runtime library for musl.
    fn default() -> Self {
        if cfg!(target_env = "musl") { Self::Native } else { Self::Onnx }
    }
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
    fn first_given(&self) -> Option<&'static str> {
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
    /// The folder of a platform package, with the built-in model and the library.
    pub package: PathBuf,
    /// The folder of another model. Default: the built-in one.
    pub model: Option<PathBuf>,
    /// The options of that model.
    pub options: ModelOptions,
    /// The software that runs the model.
    pub backend: BackendKind,
    /// The ONNX Runtime library, for that backend.
    pub library: PathBuf,
    /// The requested precision.
    pub precision: Precision,
    /// The threads for a text that is alone, at least 1.
    pub threads: usize,
}

impl ModelSettings {
    /// Returns the default settings for the model and the library in `folder`.
    pub fn beside(folder: &Path) -> Self {
        Self {
            package: folder.to_owned(),
            model: None,
            options: ModelOptions::default(),
            backend: BackendKind::default(),
            library: folder.join(library_file_name()),
            precision: Precision::default(),
            threads: available_cores(),
        }
    }

    /// Returns the folder of the model.
    pub fn folder(&self) -> PathBuf {
        self.model.clone().unwrap_or_else(|| self.package.join("model"))
    }

    /// Returns whether the folder has the layout of the built-in model.
    fn is_built_in(&self) -> bool {
        let has = |name| self.folder().join(name).exists();
        self.model.is_none() || has(MANIFEST) || !has(CONFIG)
    }

    /// Removes differences that have no effect: the native backend needs no library, runs every fast built-in model,
    /// and is exact if the int8 kernels are not faster on this machine.
    fn effective(mut self, is_int8_faster: bool) -> Self {
        let is_built_in = self.is_built_in();
        if !is_int8_faster && is_built_in {
            self.precision = Precision::Exact;
        }
        if self.precision == Precision::Fast && is_built_in {
            self.backend = BackendKind::Native;
        }
        if self.backend == BackendKind::Native {
            self.library = PathBuf::new();
        }
        if self.model.as_ref() == Some(&self.package.join("model")) {
            self.model = None;
        }
        self
    }
}

/// The folder of a model, whose description has been read.
#[derive(Clone)]
pub(crate) enum ModelFolder {
    BuiltIn(Arc<BuiltInFiles>),
    Custom(Arc<CustomFolder>),
}

impl ModelFolder {
    /// Reads the manifest of the built-in model, or the configuration of a custom one.
    pub fn open(settings: &ModelSettings) -> Result<Self> {
        let path = settings.folder();
        if !settings.is_built_in() {
            return CustomFolder::read(&path, settings)
                .map(|folder| Self::Custom(Arc::new(folder)));
        }
        let files = BuiltInFiles::open(&path).map_err(|error| match error {
            EmbedError::File { path, what } if settings.model.is_some() && !path.exists() => {
                let what =
                    format!("{what}; a custom model has {CONFIG}, which is not there either");
                EmbedError::File { path, what }
            }
            error => error,
        })?;
        match settings.options.first_given() {
            Some(option) => Err(EmbedError::BuiltIn { path, option }),
            None => Ok(Self::BuiltIn(Arc::new(files))),
        }
    }

    pub fn custom(&self) -> Option<&CustomFolder> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Custom(folder) => Some(folder),
        }
    }

    /// Returns all files that the model depends on, including missing ones.
    fn files(&self, settings: &ModelSettings) -> Vec<PathBuf> {
        let mut files = match self {
            Self::BuiltIn(files) => files.paths().collect(),
            Self::Custom(folder) => folder.paths().cloned().collect::<Vec<_>>(),
        };
        // Whether it exists decides which kind of model this is.
        files.push(settings.folder().join(MANIFEST));
        files
    }

    fn fingerprint(&self) -> Result<String> {
        match self {
            Self::BuiltIn(files) => files.fingerprint(),
            Self::Custom(folder) => folder.fingerprint(),
        }
    }

    pub fn read_tokenizer(&self, settings: &ModelSettings) -> Result<Tokenizer> {
        match self {
            Self::BuiltIn(files) => files.read_tokenizer(),
            Self::Custom(folder) => folder.read_tokenizer(&settings.folder()),
        }
    }
}

/// Returns the fingerprint of a model as 64 hexadecimal digits without loading it: embeddings by models with the same
/// fingerprint can be compared with each other. Reads all files of a custom model.
///
/// # Errors
///
/// A file is missing or cannot be read.
pub fn fingerprint(settings: &ModelSettings) -> Result<String> {
    ModelFolder::open(settings)?.fingerprint()
}
