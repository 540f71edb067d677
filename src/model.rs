//! The model: its settings, which the environment and `configure` give, and the warnings about it.

mod embedder;
mod script;

use std::{
    env,
    ffi::OsString,
    path,
    sync::{
        Arc, LazyLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

pub use embedder::{ModelEmbedder, NoveltyKind};
use knowledgepulse_embedder::{
    BackendKind, LongText, ModelOptions, ModelSettings, PackageFolder, Pooling, Precision,
    SharedModel, disable_telemetry,
};
use knowledgepulse_scoring::{Error, Invalid, Novelty, Result, scorer::Outcome};
use napi::{
    Env,
    bindgen_prelude::{FnArgs, FromNapiValue, Function, JsObjectValue, Object, Unknown},
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
    LongText { "window" => Window, "whole" => Whole }
}

/// Settings from one source.
struct Given<'a> {
    /// Options of JavaScript, of the types that `lib/options.js` has checked; `None` for environment variables.
    options: Option<&'a Object<'a>>,
    /// The settings whose values are wrong.
    wrong: Vec<(&'static str, Error)>,
}

impl Given<'_> {
    /// Returns the name of a setting for errors, and its text.
    fn text(&self, name: &str) -> Option<(String, OsString)> {
        let Some(options) = self.options else { return variable(name) };
        Some((name.to_owned(), options.get::<String>(name).ok()??.into()))
    }

    fn get<T: FromNapiValue>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        match self.options {
            Some(options) => options.get(name).ok()?,
            None => self.parse(name, expected, parse),
        }
    }

    fn parse<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let (path, text) = self.text(name)?;
        let value = text.to_str().and_then(parse);
        if value.is_none() {
            let found = shown(text.to_string_lossy().into());
            self.wrong.push((name, Error::invalid(Invalid::Option, path, expected, found)));
        }
        value
    }

    fn choice<T: Choice>(&mut self, name: &'static str) -> Option<T> {
        let names: Vec<_> = T::NAMES.iter().map(|(name, _)| format!("{name:?}")).collect();
        let (last, others) = names.split_last().expect("at least one name");
        self.parse(name, &format!("{} or {last}", others.join(", ")), T::named)
    }
}

/// Returns the environment variable of a setting, and its name.
fn variable(setting: &str) -> Option<(String, OsString)> {
    let mut name = String::from("KNOWLEDGEPULSE_SCORING_");
    for letter in setting.chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    let text = env::var_os(&name).filter(|text| !text.is_empty())?;
    Some((name, text))
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
    fn from_environment() -> Self {
        let mut settings = Self {
            mode: Mode::default(),
            model: ModelSettings::of(PackageFolder::of_addon()),
            novelty: None,
            // That of the KnowledgePulse protocol.
            threshold: 0.75,
            invalid: Vec::new(),
        };
        settings.invalid = settings.apply(None);
        settings
    }

    /// Applies options of JavaScript.
    pub fn update(&mut self, options: &Object) -> Result<()> {
        self.invalid.retain(|(name, _)| matches!(options.get::<Unknown>(name), Ok(None)));
        self.apply(Some(options)).into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Applies settings, by default those of the environment. Another model resets the options of the model. Returns the
    /// errors of wrong values.
    fn apply(&mut self, options: Option<&Object>) -> Vec<(&'static str, Error)> {
        let Self { mode, model, novelty, threshold, .. } = self;
        let mut given = Given { options, wrong: Vec::new() };
        let text_of = |given: &Given, name| Some(given.text(name)?.1.to_string_lossy().into());
        *mode = given.choice("embedder").unwrap_or(*mode);
        *novelty = given.choice("novelty").or(*novelty);
        model.backend = given.choice("backend").or(model.backend);
        model.precision = given.choice("precision").unwrap_or(model.precision);
        // The working directory may change before the load.
        let path_of = |text: OsString| path::absolute(&text).unwrap_or_else(|_| text.into());
        if let Some((_, folder)) = given.text("model") {
            (model.model, model.options) = (Some(path_of(folder)), ModelOptions::default());
        }
        let options = &mut model.options;
        options.pooling = given.choice("pooling").or(options.pooling);
        let normalize = given.get("normalize", "\"true\" or \"false\"", |text| text.parse().ok());
        options.normalize = normalize.or(options.normalize);
        let positive = |text: &str| text.parse().ok().filter(|number: &u32| *number > 0);
        let max_tokens = given.get("maxTokens", "a positive integer", positive);
        options.max_tokens = max_tokens.map(|number| number as usize).or(options.max_tokens);
        options.prefix = text_of(&given, "prefix").or(options.prefix.take());
        options.output = text_of(&given, "output").or(options.output.take());
        if let Some((_, library)) = given.text("library") {
            disable_telemetry();
            model.library = Some(path_of(library));
        }
        let share = |text: &str| text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        *threshold = given.get("threshold", "a number in [0, 1]", share).unwrap_or(*threshold);
        given.wrong
    }

    /// Returns an embedder with these settings. Loads nothing. Fails if a variable has a wrong value.
    pub fn embedder(
        mut self,
        threads: Option<usize>,
        long_text: LongText,
    ) -> Result<Arc<ModelEmbedder>> {
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
                long_text,
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

/// The settings of the process for new calls.
struct Current {
    settings: Settings,
    embedder: Result<Arc<ModelEmbedder>>,
}

impl Current {
    fn new(settings: Settings) -> Self {
        Self { embedder: settings.clone().embedder(None, LongText::default()), settings }
    }
}

/// Shared by all environments of the process.
static CURRENT: LazyLock<RwLock<Current>> =
    LazyLock::new(|| RwLock::new(Current::new(Settings::from_environment())));

/// Returns the embedder of the process. Loads nothing.
pub fn embedder() -> Result<Arc<ModelEmbedder>> {
    CURRENT.read().unwrap_or_else(PoisonError::into_inner).embedder.clone()
}

pub fn settings() -> Settings {
    CURRENT.read().unwrap_or_else(PoisonError::into_inner).settings.clone()
}

/// Changes the settings of the process. If they are equal to the present ones, a loaded model stays loaded, and a model that
/// failed to load is tried again.
pub fn configure(options: &Object) -> Result<()> {
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    let mut settings = current.settings.clone();
    settings.update(options)?;
    *current = Current::new(settings);
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
