//! Settings of the process: from the environment, changed by `configure`.

use std::{
    path::PathBuf,
    sync::{PoisonError, RwLock},
};

use napi::{Env, Result, bindgen_prelude::Unknown};
use once_cell::sync::OnceCell;

use super::{location, options::read_changes, report, view::JsView};
use crate::{
    embedder::{EmbedderHandle, LongText, Mode, Precision, Runtime, Settings, library_file_name},
    error::{self, Error},
    threads::pool_threads,
};

const MODEL_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_MODEL_DIR";
const LIBRARY_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_LIBRARY";
const MODE_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
const RUNTIME_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_RUNTIME";
const PRECISION_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_PRECISION";

/// A setting that has a few named values.
pub struct Choice<T: 'static> {
    expected: &'static str,
    values: &'static [(&'static str, T)],
}

pub const MODE: Choice<Mode> = Choice {
    expected: r#""auto", "off" or "required""#,
    values: &[("auto", Mode::Auto), ("off", Mode::Off), ("required", Mode::Required)],
};

pub const RUNTIME: Choice<Runtime> = Choice {
    expected: r#""onnxruntime" or "rust""#,
    values: &[("onnxruntime", Runtime::OnnxRuntime), ("rust", Runtime::Rust)],
};

pub const PRECISION: Choice<Precision> = Choice {
    expected: r#""exact" or "fast""#,
    values: &[("exact", Precision::Exact), ("fast", Precision::Fast)],
};

pub const LONG_TEXT: Choice<LongText> = Choice {
    expected: r#""window" or "whole""#,
    values: &[("window", LongText::Window), ("whole", LongText::Whole)],
};

impl<T: Copy + PartialEq> Choice<T> {
    /// The name of a value in options and reports.
    pub fn name(&self, value: T) -> &'static str {
        self.values.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
    }

    /// The value that is called `name` at `place`.
    pub fn value(&self, place: &str, name: &str) -> error::Result<T> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| Error::invalid_option(place, self.expected, format!("{name:?}")))
    }

    /// The value that a variable of the environment names, if it names one.
    fn in_environment(&self, variable: &str) -> error::Result<Option<T>> {
        match std::env::var(variable) {
            Ok(name) if !name.is_empty() => self.value(variable, &name).map(Some),
            _ => Ok(None),
        }
    }
}

/// What calls use from now on.
struct Current {
    embedder: EmbedderHandle,
    /// What is wrong in the environment, until `configure` gives something else.
    invalid_mode: Option<Error>,
    invalid_runtime: Option<Error>,
    invalid_precision: Option<Error>,
}

/// Shared by all environments of the process.
static CURRENT: OnceCell<RwLock<Current>> = OnceCell::new();

/// The embedder of the process. Nothing is loaded by asking.
///
/// # Errors
///
/// `INVALID_OPTION` when the environment names a mode, a runtime or a precision that there is not.
pub fn current_embedder() -> error::Result<EmbedderHandle> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    let invalid = [&current.invalid_mode, &current.invalid_runtime, &current.invalid_precision];
    match invalid.into_iter().flatten().next() {
        Some(error) => Err(error.clone()),
        None => Ok(current.embedder.clone()),
    }
}

fn current() -> &'static RwLock<Current> {
    CURRENT.get_or_init(|| RwLock::new(from_environment()))
}

/// Settings that are to be others than they are.
#[derive(Default)]
pub struct Changes {
    pub mode: Option<Mode>,
    pub runtime: Option<Runtime>,
    pub precision: Option<Precision>,
    pub model_dir: Option<PathBuf>,
    pub library: Option<PathBuf>,
    pub threads: Option<usize>,
}

impl Changes {
    /// The settings that come out of `old` ones.
    fn over(&self, old: &Settings) -> Settings {
        Settings {
            mode: self.mode.unwrap_or(old.mode),
            runtime: self.runtime.unwrap_or(old.runtime),
            precision: self.precision.unwrap_or(old.precision),
            model_dir: self.model_dir.clone().unwrap_or_else(|| old.model_dir.clone()),
            library: self.library.clone().unwrap_or_else(|| old.library.clone()),
            threads: self.threads.unwrap_or(old.threads),
        }
    }

    fn apply(self, current: &mut Current) {
        if self.mode.is_some() {
            current.invalid_mode = None;
        }
        if self.runtime.is_some() {
            current.invalid_runtime = None;
        }
        if self.precision.is_some() {
            current.invalid_precision = None;
        }
        // The same settings keep the model that is loaded, and forget a failure.
        current.embedder = EmbedderHandle::new(self.over(current.embedder.settings()));
    }
}

/// What embeds for a scorer with these changes to the present settings of the process.
///
/// # Errors
///
/// As [`current_embedder`], unless the changes make up for it.
pub fn embedder_with(changes: &Changes) -> error::Result<EmbedderHandle> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    for (invalid, given) in [
        (&current.invalid_mode, changes.mode.is_some()),
        (&current.invalid_runtime, changes.runtime.is_some()),
        (&current.invalid_precision, changes.precision.is_some()),
    ] {
        if let (Some(error), false) = (invalid, given) {
            return Err(error.clone());
        }
    }
    Ok(EmbedderHandle::new(changes.over(current.embedder.settings())))
}

/// Changes the settings named in `options`; calls made before keep what they had.
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    // Reading may run code that configures, too; the lock comes after it.
    let changes = report::or_throw(env, read_changes(&JsView::new(env, options)))?;
    changes.apply(&mut current().write().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

fn from_environment() -> Current {
    let folder = location::addon_folder();
    let path = |variable: &str, default: PathBuf| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map_or(default, PathBuf::from)
    };
    let mode = MODE.in_environment(MODE_VARIABLE);
    let runtime = RUNTIME.in_environment(RUNTIME_VARIABLE);
    let precision = PRECISION.in_environment(PRECISION_VARIABLE);
    let settings = Settings {
        mode: mode.as_ref().ok().copied().flatten().unwrap_or_default(),
        runtime: runtime.as_ref().ok().copied().flatten().unwrap_or_default(),
        precision: precision.as_ref().ok().copied().flatten().unwrap_or_default(),
        model_dir: path(MODEL_VARIABLE, folder.join("model")),
        library: path(LIBRARY_VARIABLE, folder.join(library_file_name())),
        threads: pool_threads(),
    };
    Current {
        embedder: EmbedderHandle::new(settings),
        invalid_mode: mode.err(),
        invalid_runtime: runtime.err(),
        invalid_precision: precision.err(),
    }
}
