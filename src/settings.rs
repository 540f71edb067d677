//! The settings of the process: those in environment variables, and over them those of `configure`. `lib/options.js` checks
//! both.

use std::{
    collections::BTreeMap,
    path,
    str::FromStr,
    sync::{Arc, Mutex},
};

use knowledgepulse_embedder::{ModelOptions, ModelSettings, PackageFolder, SharedModel};
use knowledgepulse_scoring::{Error, Invalid, Result};
use knowledgepulse_workers::lock;
use napi::{
    JsValue,
    bindgen_prelude::{Object, Unknown},
};

use crate::model::{Choice, ModelEmbedder};

/// The names of the settings.
const NAMES: [&str; 12] = [
    "backend", "embedder", "library", "maxTokens", "model", "normalize", "novelty", "output",
    "pooling", "precision", "prefix", "threshold",
];

/// The settings that are files or folders.
const PATHS: [&str; 2] = ["library", "model"];

/// The settings that another model resets.
const OF_MODEL: [&str; 5] = ["maxTokens", "normalize", "output", "pooling", "prefix"];

/// That of the KnowledgePulse protocol.
const THRESHOLD: f64 = 0.75;

/// Settings by name, as text, or the error of a variable with a wrong value.
pub type Texts = BTreeMap<&'static str, Result<String>>;

/// Returns the settings in an object of JavaScript. An array stands for a variable with a wrong value: its name, what was
/// expected, and what was found.
pub fn texts_of(settings: &Object) -> Texts {
    let text = |name| -> Option<Result<String>> {
        if let Ok(Some([path, expected, found])) = settings.get::<Vec<String>>(name).map(three) {
            return Some(Err(Error::invalid(Invalid::Option, path, expected, found)));
        }
        let value: Unknown = settings.get(name).ok()??;
        let text = value.coerce_to_string().ok()?.into_utf8().ok()?.into_owned().ok()?;
        // The working directory may change before the load.
        let absolute = path::absolute(&text).ok().filter(|_| PATHS.contains(&name));
        Some(Ok(absolute.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or(text)))
    };
    NAMES.into_iter().filter_map(|name| Some((name, text(name)?))).collect()
}

fn three(texts: Option<Vec<String>>) -> Option<[String; 3]> {
    texts?.try_into().ok()
}

/// Returns settings with others over them. Another model resets the options of the model.
pub fn overlaid(mut under: Texts, over: Texts) -> Texts {
    if over.contains_key("model") {
        under.retain(|name, _| !OF_MODEL.contains(name));
    }
    under.extend(over);
    under
}

fn text<'a>(texts: &'a Texts, name: &str) -> Option<&'a String> {
    texts.get(name)?.as_ref().ok()
}

fn parsed<T: FromStr>(texts: &Texts, name: &str) -> Option<T> {
    text(texts, name)?.parse().ok()
}

fn choice<T: Choice>(texts: &Texts, name: &str) -> Option<T> {
    T::named(text(texts, name)?)
}

/// Returns an embedder with these settings. Loads nothing. Fails if a variable has a wrong value.
pub fn embedder_with(texts: &Texts, threads: Option<usize>) -> Result<Arc<ModelEmbedder>> {
    if let Some(error) = texts.values().find_map(|text| text.as_ref().err()) {
        return Err(error.clone());
    }
    let mut model = ModelSettings::of(PackageFolder::of_addon());
    model.model = text(texts, "model").map(Into::into);
    model.options = ModelOptions {
        pooling: choice(texts, "pooling"),
        normalize: parsed(texts, "normalize"),
        max_tokens: parsed(texts, "maxTokens"),
        prefix: text(texts, "prefix").cloned(),
        output: text(texts, "output").cloned(),
    };
    model.backend = choice(texts, "backend");
    model.precision = choice(texts, "precision").unwrap_or_default();
    model.library = text(texts, "library").map_or(model.library, |library| Ok(library.into()));
    model.threads = threads.unwrap_or(model.threads);
    let mode = choice(texts, "embedder").unwrap_or_default();
    let threshold = parsed(texts, "threshold").unwrap_or(THRESHOLD);
    Ok(ModelEmbedder::new(mode, &SharedModel::with(model), choice(texts, "novelty"), threshold))
}

/// The settings for new calls.
pub struct Current {
    pub texts: Texts,
    pub embedder: Result<Arc<ModelEmbedder>>,
}

impl Current {
    /// The settings in `variables`, and over them those that were configured.
    fn new(variables: &Texts, configured: &Texts) -> Self {
        let texts = overlaid(variables.clone(), configured.clone());
        Self { embedder: embedder_with(&texts, None), texts }
    }
}

/// What all environments of the process share: what was configured, and the settings by the variables of an environment.
struct Shared {
    configured: Texts,
    current: Vec<(Texts, Current)>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { configured: Texts::new(), current: Vec::new() });

/// Returns what `read` has of the settings for new calls of an environment with these variables.
pub fn current<T>(variables: &Texts, read: impl Fn(&Current) -> T) -> T {
    let Shared { configured, current } = &mut *lock(&SHARED);
    let known = current.iter().position(|(own, _)| own == variables);
    if known.is_none() {
        current.push((variables.clone(), Current::new(variables, configured)));
    }
    read(&current[known.unwrap_or(current.len() - 1)].1)
}

/// Changes the settings of the process. If they are equal to the present ones, a loaded model stays loaded, and a model that
/// failed to load is tried again.
pub fn configure(texts: Texts) {
    let Shared { configured, current } = &mut *lock(&SHARED);
    *configured = overlaid(configured.clone(), texts);
    for (variables, current) in current {
        *current = Current::new(variables, configured);
    }
}
