//! Settings of the process: from the environment, changed by `configure`.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use napi::{Env, Result, bindgen_prelude::Unknown};
use once_cell::sync::OnceCell;

use super::{location, report, view::JsView, view::Thrown};
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

/// The embedder that calls use from now on; shared by all environments of the process.
static CURRENT: OnceCell<RwLock<Arc<EmbedderSlot>>> = OnceCell::new();

/// The embedder of the process. Nothing is loaded by asking.
pub fn current_embedder() -> error::Result<Arc<EmbedderSlot>> {
    Ok(current()?.read().unwrap_or_else(PoisonError::into_inner).clone())
}

fn current() -> error::Result<&'static RwLock<Arc<EmbedderSlot>>> {
    CURRENT.get_or_try_init(|| Ok(RwLock::new(Arc::new(EmbedderSlot::new(from_environment()?)))))
}

/// The name of a mode in options and reports.
pub fn mode_name(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, known)| *known == mode).map_or("auto", |(name, _)| name)
}

/// Changes the settings named in `options`; calls made before keep what they had.
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    let lock = match current() {
        Ok(lock) => lock,
        Err(error) => return report::throw(env, &error),
    };
    let mut settings = lock.read().unwrap_or_else(PoisonError::into_inner).settings().clone();
    match read_options(&JsView::new(env, options), &mut settings) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return report::throw(env, &error),
        Err(thrown) => return thrown.rethrow(env),
    }
    let mut current = lock.write().unwrap_or_else(PoisonError::into_inner);
    // The same settings keep the model that is loaded, and forget a failure.
    if *current.settings() != settings || current.has_failed() {
        *current = Arc::new(EmbedderSlot::new(settings));
    }
    Ok(())
}

fn read_options(
    options: &JsView,
    settings: &mut Settings,
) -> std::result::Result<error::Result<()>, Thrown> {
    let invalid = |path: &str, expected: &str, found: &JsView| {
        Ok(Err(Error::invalid_option(path, expected, found.describe())))
    };
    if options.type_of() != Type::Object {
        return invalid("options", "an object", options);
    }
    for name in options.keys()? {
        let value = options.named(&name)?;
        let text = match (OPTIONS.contains(&name.as_str()), value.type_of()) {
            (false, _) => {
                let known = OPTIONS.join(", ");
                return Ok(Err(Error::invalid_option(
                    &name,
                    format!("one of the options {known}"),
                    "an unknown option",
                )));
            }
            (true, Type::Undefined) => continue,
            (true, Type::String) => value.string()?,
            (true, _) => return invalid(&name, "a string", &value),
        };
        match name.as_str() {
            "modelDir" => settings.model_dir = PathBuf::from(text),
            "library" => settings.library = PathBuf::from(text),
            _ => match mode(&name, &text) {
                Ok(mode) => settings.mode = mode,
                Err(error) => return Ok(Err(error)),
            },
        }
    }
    Ok(Ok(()))
}

fn mode(place: &str, name: &str) -> error::Result<Mode> {
    MODES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode).ok_or_else(|| {
        Error::invalid_option(place, r#""auto", "off" or "required""#, format!("{name:?}"))
    })
}

fn from_environment() -> error::Result<Settings> {
    let folder = location::addon_folder();
    let path = |variable: &str, default: PathBuf| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map_or(default, PathBuf::from)
    };
    let mode = match std::env::var(MODE_VARIABLE) {
        Ok(name) if !name.is_empty() => mode(MODE_VARIABLE, &name)?,
        _ => Mode::Auto,
    };
    Ok(Settings {
        mode,
        model_dir: path(MODEL_VARIABLE, folder.join("model")),
        library: path(LIBRARY_VARIABLE, folder.join(library_file_name())),
        threads: pool_threads(),
    })
}
