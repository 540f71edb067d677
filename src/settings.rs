//! The settings of the process: those in environment variables, and over them those of `configure`.

use std::{
    collections::BTreeMap,
    path,
    sync::{Arc, Mutex},
};

use knowledgepulse_embedder::{ModelOptions, ModelSettings, PackageFolder, SharedModel};
use knowledgepulse_scoring::{Error, Invalid, Result};
use knowledgepulse_workers::lock;
use napi::{
    Env, JsValue,
    bindgen_prelude::{JsObjectValue, Object, Unknown},
};

use crate::{
    js::{forget_exception, shown},
    model::{Choice, Mode, ModelEmbedder, NoveltyKind},
};

/// The names of the settings.
const NAMES: [&str; 12] = [
    "backend", "embedder", "library", "maxTokens", "model", "normalize", "novelty", "output",
    "pooling", "precision", "prefix", "threshold",
];

/// The settings that another model resets.
const OF_MODEL: [&str; 5] = ["maxTokens", "normalize", "output", "pooling", "prefix"];

/// Settings of one source by name, as text.
pub type Texts = BTreeMap<&'static str, String>;

/// Returns the settings in options of JavaScript, whose types `lib/options.js` has checked.
fn options_of(options: &Object) -> Texts {
    let text = |name| {
        let value: Unknown = options.get(name).ok()??;
        value.coerce_to_string().ok()?.into_utf8().ok()?.into_owned().ok()
    };
    NAMES.into_iter().filter_map(|name| Some((name, text(name)?))).collect()
}

/// Returns the settings in `process.env`, which a worker may have of its own.
pub fn variables_of(env: &Env) -> Texts {
    let variables = || -> napi::Result<Object> {
        let process: Object = env.get_global()?.get_named_property("process")?;
        process.get_named_property("env")
    };
    let Ok(variables) = variables() else { return Texts::new() };
    let text = |name| {
        // Deno throws for what it does not allow to read.
        let found = variables.get::<String>(&variable(name)).inspect_err(|_| forget_exception(env));
        found.ok()?.filter(|text| !text.is_empty())
    };
    NAMES.into_iter().filter_map(|name| Some((name, text(name)?))).collect()
}

/// Settings from one source.
struct Given<'a> {
    texts: &'a Texts,
    /// Whether they are environment variables, for errors.
    are_variables: bool,
    /// The settings whose values are wrong.
    wrong: Vec<(&'static str, Error)>,
}

impl Given<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.texts.get(name).cloned()
    }

    fn parse<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.texts.get(name)?;
        let value = parse(text);
        if value.is_none() {
            let path = if self.are_variables { variable(name) } else { name.to_owned() };
            let error = Error::invalid(Invalid::Option, path, expected, shown(text.clone()));
            self.wrong.push((name, error));
        }
        value
    }

    fn choice<T: Choice>(&mut self, name: &'static str) -> Option<T> {
        let names: Vec<_> = T::NAMES.iter().map(|(name, _)| format!("{name:?}")).collect();
        let (last, others) = names.split_last().expect("at least one name");
        self.parse(name, &format!("{} or {last}", others.join(", ")), T::named)
    }
}

/// Returns the name of the environment variable of a setting.
fn variable(setting: &str) -> String {
    let mut name = String::from("KNOWLEDGEPULSE_SCORING_");
    for letter in setting.chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// The mode of the embedder, its model, what novelty compares, and the threshold.
#[derive(Debug, Clone)]
pub struct Settings {
    mode: Mode,
    model: ModelSettings,
    /// `None` for the default.
    novelty: Option<NoveltyKind>,
    threshold: f64,
    /// The options whose variables have wrong values and have not been replaced.
    invalid: Vec<(&'static str, Error)>,
}

impl Settings {
    fn from_variables(variables: &Texts) -> Self {
        let mut settings = Self {
            mode: Mode::default(),
            model: ModelSettings::of(PackageFolder::of_addon()),
            novelty: None,
            // That of the KnowledgePulse protocol.
            threshold: 0.75,
            invalid: Vec::new(),
        };
        settings.invalid = settings.apply(variables, true);
        settings
    }

    /// Applies options of JavaScript.
    pub fn update(&mut self, options: &Object) -> Result<()> {
        self.overlay(&options_of(options))
    }

    fn overlay(&mut self, options: &Texts) -> Result<()> {
        self.invalid.retain(|(name, _)| !options.contains_key(name));
        self.apply(options, false).into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Applies settings. Another model resets the options of the model. Returns the errors of wrong values.
    fn apply(&mut self, texts: &Texts, are_variables: bool) -> Vec<(&'static str, Error)> {
        let Self { mode, model, novelty, threshold, .. } = self;
        let mut given = Given { texts, are_variables, wrong: Vec::new() };
        *mode = given.choice("embedder").unwrap_or(*mode);
        *novelty = given.choice("novelty").or(*novelty);
        model.backend = given.choice("backend").or(model.backend);
        model.precision = given.choice("precision").unwrap_or(model.precision);
        // The working directory may change before the load.
        let path_of = |text: String| path::absolute(&text).unwrap_or_else(|_| text.into());
        if let Some(folder) = given.text("model") {
            (model.model, model.options) = (Some(path_of(folder)), ModelOptions::default());
        }
        let options = &mut model.options;
        options.pooling = given.choice("pooling").or(options.pooling);
        let normalize = given.parse("normalize", "\"true\" or \"false\"", |text| text.parse().ok());
        options.normalize = normalize.or(options.normalize);
        let positive = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0);
        let max_tokens = given.parse("maxTokens", "a positive integer", positive);
        options.max_tokens = max_tokens.map(|number| number as usize).or(options.max_tokens);
        options.prefix = given.text("prefix").or(options.prefix.take());
        options.output = given.text("output").or(options.output.take());
        if let Some(library) = given.text("library") {
            model.library = Ok(path_of(library));
        }
        let share = |text: &str| text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        *threshold = given.parse("threshold", "a number in [0, 1]", share).unwrap_or(*threshold);
        given.wrong
    }

    /// Returns an embedder with these settings. Loads nothing. Fails if a variable has a wrong value.
    pub fn embedder(mut self, threads: Option<usize>) -> Result<Arc<ModelEmbedder>> {
        if let Some((_, error)) = self.invalid.first() {
            return Err(error.clone());
        }
        self.model.threads = threads.unwrap_or(self.model.threads);
        let model = SharedModel::with(self.model);
        Ok(ModelEmbedder::new(self.mode, &model, self.novelty, self.threshold))
    }
}

/// The settings for new calls.
struct Current {
    settings: Settings,
    embedder: Result<Arc<ModelEmbedder>>,
}

impl Current {
    /// The settings in `variables`, and over them those that were configured.
    fn new(variables: &Texts, configured: &Texts) -> Result<Self> {
        let mut settings = Settings::from_variables(variables);
        settings.overlay(configured)?;
        Ok(Self { embedder: settings.clone().embedder(None), settings })
    }
}

/// What all environments of the process share: what was configured, and the settings by the variables of an environment.
struct Shared {
    configured: Texts,
    current: Vec<(Texts, Current)>,
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { configured: Texts::new(), current: Vec::new() });

/// Returns what `read` has of the settings for new calls of an environment with these variables.
fn with_current<T>(variables: &Texts, read: impl Fn(&Current) -> T) -> Result<T> {
    let Shared { configured, current } = &mut *lock(&SHARED);
    let known = current.iter().position(|(own, _)| own == variables);
    if known.is_none() {
        current.push((variables.clone(), Current::new(variables, configured)?));
    }
    Ok(read(&current[known.unwrap_or(current.len() - 1)].1))
}

/// Returns the embedder of an environment. Loads nothing.
pub fn embedder(variables: &Texts) -> Result<Arc<ModelEmbedder>> {
    with_current(variables, |current| current.embedder.clone())?
}

pub fn settings(variables: &Texts) -> Result<Settings> {
    with_current(variables, |current| current.settings.clone())
}

/// Changes the settings of the process. If they are equal to the present ones, a loaded model stays loaded, and a model that
/// failed to load is tried again.
pub fn configure(variables: &Texts, options: &Object) -> Result<()> {
    let options = options_of(options);
    // Those of this environment are checked, too.
    with_current(variables, |_| ())?;
    let mut shared = lock(&SHARED);
    let mut configured = shared.configured.clone();
    if options.contains_key("model") {
        configured.retain(|name, _| !OF_MODEL.contains(name));
    }
    configured.extend(options);
    let renewed = shared
        .current
        .iter()
        .map(|(variables, _)| Ok((variables.clone(), Current::new(variables, &configured)?)));
    let current = renewed.collect::<Result<_>>()?;
    *shared = Shared { configured, current };
    Ok(())
}
