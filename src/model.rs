//! The model: its settings, which the environment and `configure` give, and the warnings about it.

mod embedder;
mod script;

use std::{
    collections::BTreeMap,
    path,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

pub use embedder::{ModelEmbedder, NoveltyKind};
use knowledgepulse_embedder::{
    BackendKind, ModelOptions, ModelSettings, PackageFolder, Pooling, Precision, SharedModel,
};
use knowledgepulse_scoring::{Error, Invalid, Novelty, Result, scorer::Outcome};
use napi::{
    Env, JsValue,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object, Unknown},
};
use once_cell::sync::OnceCell;

use crate::js::{forget_exception, shown};

/// The number of letters after which their scripts are judged.
const ENOUGH_LETTERS: usize = 200;

/// Whether scores use the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Use it; if it is unavailable, novelty is neutral and the status has the reason.
    #[default]
    Auto,
    /// Do not use it: novelty is neutral.
    Off,
    /// Use it; if it is unavailable, scoring fails.
    Required,
}

/// A setting whose values have names in options, environment variables and reports.
pub trait Choice: Copy + PartialEq + 'static {
    /// The values that can be chosen, by name.
    const NAMES: &'static [(&'static str, Self)];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }

    fn named(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }
}

macro_rules! choices {
    ($($setting:ident { $($name:literal => $value:ident),+ })+) => {
        $(impl Choice for $setting {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];
        })+
    };
}

choices! {
    Mode { "auto" => Auto, "off" => Off, "required" => Required }
    BackendKind { "onnx" => Onnx, "native" => Native }
    Precision { "exact" => Exact, "fast" => Fast }
    Pooling { "mean" => Mean, "cls" => Cls, "last" => Last }
    NoveltyKind { "text" => Text, "run" => Run, "words" => Words }
}

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
        let embedder = |novelty, for_selections| {
            Arc::new(ModelEmbedder {
                mode: self.mode,
                model: model.clone(),
                novelty,
                for_selections,
                threshold: self.threshold,
                identity: OnceCell::new(),
                letters: AtomicUsize::new(0),
                foreign: AtomicUsize::new(0),
            })
        };
        let for_selections = self.novelty.is_none().then(|| embedder(NoveltyKind::Run, None));
        Ok(embedder(self.novelty.unwrap_or_default(), for_selections))
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

static SHARED: RwLock<Shared> =
    RwLock::new(Shared { configured: Texts::new(), current: Vec::new() });

/// Returns what `read` has of the settings for new calls of an environment with these variables.
fn with_current<T>(variables: &Texts, read: impl Fn(&Current) -> T) -> Result<T> {
    let found = |shared: &Shared| {
        shared.current.iter().find(|(own, _)| own == variables).map(|(_, current)| read(current))
    };
    if let Some(value) = found(&SHARED.read().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(value);
    }
    let mut shared = SHARED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = found(&shared) {
        return Ok(value);
    }
    let current = Current::new(variables, &shared.configured)?;
    let value = read(&current);
    shared.current.push((variables.clone(), current));
    Ok(value)
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
    let mut shared = SHARED.write().unwrap_or_else(PoisonError::into_inner);
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

/// A process warning about scores. Each is emitted once in a process.
pub enum Warning {
    /// Novelty is neutral, for this reason.
    WithoutEmbedder(Arc<str>),
    /// Most texts are in scripts that the built-in model does not know.
    UnknownScripts,
}

impl Warning {
    /// Returns the warning that a call causes.
    pub fn of(embedder: &ModelEmbedder, outcome: &Outcome) -> Option<Self> {
        let novelty = match outcome {
            Outcome::Scored(report) => Some(&report.score.novelty),
            _ => None,
        };
        let reason = match (novelty, outcome) {
            (Some(Novelty::NoEmbedder(reason)), _) | (_, Outcome::WarmedUp(Err(reason))) => {
                Some(reason)
            }
            (_, Outcome::Candidate(candidate)) => candidate.reason(),
            _ => None,
        };
        // Whoever switches the embedder off knows.
        if let Some(reason) = reason.filter(|_| embedder.mode == Mode::Auto) {
            return Some(Self::WithoutEmbedder(reason.clone()));
        }
        let letters = embedder.letters.load(Ordering::Relaxed);
        let foreign = embedder.foreign.load(Ordering::Relaxed);
        (letters >= ENOUGH_LETTERS && foreign > letters / 2).then_some(Self::UnknownScripts)
    }

    /// Emits the warning once.
    pub fn emit(&self, env: &Env) {
        static EMITTED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        if EMITTED[usize::from(matches!(self, Self::UnknownScripts))].swap(true, Ordering::Relaxed)
        {
            return;
        }
        let (code, message) = match self {
            Self::WithoutEmbedder(reason) => (
                "KNOWLEDGEPULSE_NO_EMBEDDER",
                format!("works without its embedder, so every novelty is 0.5: {reason}"),
            ),
            Self::UnknownScripts => (
                "KNOWLEDGEPULSE_UNKNOWN_SCRIPTS",
                "scores texts mostly in scripts that the built-in model, an English one, does not know, so novelty hardly tells anything; the option model takes a multilingual one, and novelty: \"words\" needs none".into(),
            ),
        };
        let message = format!("@knowledgepulse/scoring {message}");
        let emit = || {
            let process: Object = env.get_global()?.get_named_property("process")?;
            let emit: Function<FnArgs<(String, &str, &str)>, ()> =
                process.get_named_property("emitWarning")?;
            emit.apply(process, (message, "KnowledgePulseWarning", code).into())
        };
        // If `emitWarning` was replaced by a function that throws, the score is still returned.
        if emit().is_err() {
            forget_exception(env);
        }
    }
}
