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
    embedder::{EmbedderSlot, Mode, Settings, library_file_name},
    error::{self, Error},
    scorer::pool_threads,
    trace::{Type, View},
};

const MODE_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
const MODEL_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_MODEL_DIR";
const LIBRARY_VARIABLE: &str = "KNOWLEDGEPULSE_SCORING_LIBRARY";

const MODES: [(&str, Mode); 3] =
    [("auto", Mode::Auto), ("off", Mode::Off), ("required", Mode::Required)];
const OPTIONS: [&str; 3] = ["embedder", "modelDir", "library"];

/// What calls use from now on.
struct Current {
    embedder: Arc<EmbedderSlot>,
    /// What is wrong with the mode in the environment, until `configure` gives another.
    invalid: Option<Error>,
}

/// Shared by all environments of the process.
static CURRENT: OnceCell<RwLock<Current>> = OnceCell::new();

/// The embedder of the process. Nothing is loaded by asking.
///
/// # Errors
///
/// `INVALID_OPTION` when the environment names a mode that there is not.
pub fn current_embedder() -> error::Result<Arc<EmbedderSlot>> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    match &current.invalid {
        Some(error) => Err(error.clone()),
        None => Ok(current.embedder.clone()),
    }
}

fn current() -> &'static RwLock<Current> {
    CURRENT.get_or_init(|| {
        let (settings, invalid) = from_environment();
        RwLock::new(Current { embedder: Arc::new(EmbedderSlot::new(settings)), invalid })
    })
}

/// The name of a mode in options and reports.
pub fn mode_name(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, known)| *known == mode).map_or("auto", |(name, _)| name)
}

/// The options given to `configure`.
#[derive(Default)]
struct Changes {
    mode: Option<Mode>,
    model_dir: Option<PathBuf>,
    library: Option<PathBuf>,
}

impl Changes {
    fn apply(self, current: &mut Current) {
        let old = current.embedder.settings().clone();
        let settings = Settings {
            mode: self.mode.unwrap_or(old.mode),
            model_dir: self.model_dir.unwrap_or_else(|| old.model_dir.clone()),
            library: self.library.unwrap_or_else(|| old.library.clone()),
            threads: old.threads,
        };
        if self.mode.is_some() {
            current.invalid = None;
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
            _ => changes.mode = Some(mode(&name, &text)?),
        }
    }
    Ok(changes)
}

fn mode(place: &str, name: &str) -> error::Result<Mode> {
    MODES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode).ok_or_else(|| {
        Error::invalid_option(place, r#""auto", "off" or "required""#, format!("{name:?}"))
    })
}

fn from_environment() -> (Settings, Option<Error>) {
    let folder = location::addon_folder();
    let path = |variable: &str, default: PathBuf| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map_or(default, PathBuf::from)
    };
    let (mode, invalid) = match std::env::var(MODE_VARIABLE) {
        Ok(name) if !name.is_empty() => {
            mode(MODE_VARIABLE, &name).map_or_else(|error| (Mode::Auto, Some(error)), |m| (m, None))
        }
        _ => (Mode::Auto, None),
    };
    let settings = Settings {
        mode,
        model_dir: path(MODEL_VARIABLE, folder.join("model")),
        library: path(LIBRARY_VARIABLE, folder.join(library_file_name())),
        threads: pool_threads(),
    };
    (settings, invalid)
}
