//! Settings of the process: from the environment, changed by `configure`.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use napi::{Env, Result, bindgen_prelude::Unknown};
use once_cell::sync::OnceCell;

use super::{
    location, report,
    view::{JsView, Read},
};
use crate::{
    embedder::{EmbedderSlot, Mode, Precision, Runtime, Settings, library_file_name},
    error::{self, Error},
    threads::pool_threads,
    trace::{Type, View},
};

const MODEL_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_MODEL_DIR";
const LIBRARY_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_LIBRARY";

const OPTIONS: [&str; 5] = ["embedder", "runtime", "precision", "modelDir", "library"];

/// A setting that has a few named values.
pub struct Choice<T: 'static> {
    variable: &'static str,
    expected: &'static str,
    values: &'static [(&'static str, T)],
}

pub const MODE: Choice<Mode> = Choice {
    variable: "KNOWLEDGEPULSE_SCORING_EMBEDDER",
    expected: r#""auto", "off" or "required""#,
    values: &[("auto", Mode::Auto), ("off", Mode::Off), ("required", Mode::Required)],
};

pub const RUNTIME: Choice<Runtime> = Choice {
    variable: "KNOWLEDGEPULSE_SCORING_RUNTIME",
    expected: r#""onnxruntime" or "rust""#,
    values: &[("onnxruntime", Runtime::OnnxRuntime), ("rust", Runtime::Rust)],
};

pub const PRECISION: Choice<Precision> = Choice {
    variable: "KNOWLEDGEPULSE_SCORING_PRECISION",
    expected: r#""exact" or "fast""#,
    values: &[("exact", Precision::Exact), ("fast", Precision::Fast)],
};

impl<T: Copy + PartialEq> Choice<T> {
    /// The name of a value in options and reports.
    pub fn name(&self, value: T) -> &'static str {
        self.values.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
    }

    /// The value that is called `name` at `place`.
    fn value(&self, place: &str, name: &str) -> error::Result<T> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| Error::invalid_option(place, self.expected, format!("{name:?}")))
    }

    /// The value that the environment names, if it names one.
    fn in_environment(&self) -> error::Result<Option<T>> {
        match std::env::var(self.variable) {
            Ok(name) if !name.is_empty() => self.value(self.variable, &name).map(Some),
            _ => Ok(None),
        }
    }
}

/// What calls use from now on.
struct Current {
    embedder: Arc<EmbedderSlot>,
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
pub fn current_embedder() -> error::Result<Arc<EmbedderSlot>> {
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

/// The options given to `configure`.
#[derive(Default)]
struct Changes {
    mode: Option<Mode>,
    runtime: Option<Runtime>,
    precision: Option<Precision>,
    model_dir: Option<PathBuf>,
    library: Option<PathBuf>,
}

impl Changes {
    fn apply(self, current: &mut Current) {
        let old = current.embedder.settings().clone();
        let settings = Settings {
            mode: self.mode.unwrap_or(old.mode),
            runtime: self.runtime.unwrap_or(old.runtime),
            precision: self.precision.unwrap_or(old.precision),
            model_dir: self.model_dir.unwrap_or_else(|| old.model_dir.clone()),
            library: self.library.unwrap_or_else(|| old.library.clone()),
            threads: old.threads,
        };
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
        if settings != old || current.embedder.has_failed() {
            current.embedder = Arc::new(EmbedderSlot::new(settings));
        }
    }
}

/// Changes the settings named in `options`; calls made before keep what they had.
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    // Reading may run code that configures, too; the lock comes after it.
    let changes = report::or_throw(env, read_options(&JsView::new(env, options)))?;
    changes.apply(&mut current().write().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

fn read_options(options: &JsView) -> Read<Changes> {
    let mut changes = Changes::default();
    let invalid = |path: &str, expected: &str, found: &JsView| {
        Error::invalid_option(path, expected, found.describe()).into()
    };
    if options.type_of() != Type::Object {
        return Err(invalid("options", "an object", options));
    }
    for name in options.keys()? {
        if !OPTIONS.contains(&name.as_str()) {
            let known = format!("one of the options {}", OPTIONS.join(", "));
            return Err(Error::invalid_option(name, known, "an unknown option").into());
        }
        let value = options.named(&name)?;
        let text = match value.type_of() {
            Type::Undefined => continue,
            Type::String => value.string()?,
            _ => return Err(invalid(&name, "a string", &value)),
        };
        match name.as_str() {
            "modelDir" => changes.model_dir = Some(text.into()),
            "library" => changes.library = Some(text.into()),
            "runtime" => changes.runtime = Some(RUNTIME.value(&name, &text)?),
            "precision" => changes.precision = Some(PRECISION.value(&name, &text)?),
            _ => changes.mode = Some(MODE.value(&name, &text)?),
        }
    }
    Ok(changes)
}

fn from_environment() -> Current {
    let folder = location::addon_folder();
    let path = |variable: &str, default: PathBuf| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map_or(default, PathBuf::from)
    };
    let mode = MODE.in_environment();
    let (runtime, precision) = (RUNTIME.in_environment(), PRECISION.in_environment());
    let settings = Settings {
        mode: mode.as_ref().ok().copied().flatten().unwrap_or_default(),
        runtime: runtime.as_ref().ok().copied().flatten().unwrap_or_default(),
        precision: precision.as_ref().ok().copied().flatten().unwrap_or_default(),
        model_dir: path(MODEL_VARIABLE, folder.join("model")),
        library: path(LIBRARY_VARIABLE, folder.join(library_file_name())),
        threads: pool_threads(),
    };
    Current {
        embedder: Arc::new(EmbedderSlot::new(settings)),
        invalid_mode: mode.err(),
        invalid_runtime: runtime.err(),
        invalid_precision: precision.err(),
    }
}
