//! The model: its settings, which the environment and `configure` give; how the engine embeds with it; its
//! status, and the warnings about it.

mod script;

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    sync::{
        Arc, LazyLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use knowledgepulse_embedder::{
    BackendKind, EmbedError, Embedder, LoadState, LongText, ModelOptions, ModelSettings,
    PackageFolder, Pooling, Precision, SharedModel, TextBuffer, disable_telemetry, library_version,
};
use knowledgepulse_scoring::{
    Error, Invalid, Novelty, Result,
    embed::{CallEmbedder, Embed, Embedded, TextFacts},
    scorer::Outcome,
};
use knowledgepulse_workers::CancelToken;
use napi::{
    Env,
    bindgen_prelude::{FnArgs, FromNapiValue, Function, JsObjectValue, Object, Unknown},
};
use once_cell::sync::OnceCell;
use serde_json::{Value, json};

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

/// The mode of the embedder, its model, and the threshold.
#[derive(Debug, Clone)]
pub struct Settings {
    mode: Mode,
    model: ModelSettings,
    threshold: f64,
    /// The options whose variables have wrong values and have not been replaced.
    invalid: Vec<(&'static str, Error)>,
}

impl Settings {
    fn from_environment() -> Self {
        let mut settings = Self {
            mode: Mode::default(),
            model: ModelSettings::of(PackageFolder::of_addon()),
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
        let Self { mode, model, threshold, .. } = self;
        let mut given = Given { options, wrong: Vec::new() };
        let text_of = |given: &Given, name| Some(given.text(name)?.1.to_string_lossy().into());
        *mode = given.choice("embedder").unwrap_or(*mode);
        model.backend = given.choice("backend").unwrap_or(model.backend);
        model.precision = given.choice("precision").unwrap_or(model.precision);
        if let Some((_, folder)) = given.text("model") {
            (model.model, model.options) = (Some(folder.into()), ModelOptions::default());
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
            model.library = Some(library.into());
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
        Ok(Arc::new(ModelEmbedder {
            mode: self.mode,
            model: SharedModel::with(self.model),
            long_text,
            threshold: self.threshold,
            identity: OnceCell::new(),
            letters: AtomicUsize::new(0),
            foreign: AtomicUsize::new(0),
        }))
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

/// Returns a path as text; `None` if there is none.
fn shown_path(path: Result<PathBuf, EmbedError>) -> Option<String> {
    path.ok().map(|path| path.display().to_string())
}

/// A shared model, as one scorer uses it.
pub struct ModelEmbedder {
    pub mode: Mode,
    pub model: Arc<SharedModel>,
    pub long_text: LongText,
    /// The default threshold of decisions.
    pub threshold: f64,
    /// The name and the fingerprint of the loaded model.
    identity: OnceCell<[Arc<str>; 2]>,
    /// The number of letters that the built-in model has seen.
    letters: AtomicUsize,
    /// The number of these in scripts that it does not know.
    foreign: AtomicUsize,
}

/// The reason while the embedder is switched off.
const OFF: &str = "switched off";

impl ModelEmbedder {
    /// Returns the embedder of a call, or the reason for its absence.
    pub fn available(self: &Arc<Self>) -> CallEmbedder {
        if self.mode == Mode::Off { Err(OFF.into()) } else { Ok(self.clone()) }
    }

    /// Returns a buffer that keeps the part of a text that this model needs.
    pub fn text_buffer(&self) -> TextBuffer {
        TextBuffer::new(self.long_text, &self.model.settings)
    }

    /// Returns the fingerprint of the embeddings, without loading the model.
    pub fn fingerprint(&self) -> Result<Arc<str>> {
        if let Some([_, fingerprint]) = self.identity.get() {
            return Ok(fingerprint.clone());
        }
        let model = knowledgepulse_embedder::fingerprint(&self.model.settings);
        Ok(self.with_long_text(&model.map_err(Error::embedder_unavailable)?))
    }

    /// Embeddings of whole texts must not be compared with those of windows.
    fn with_long_text(&self, fingerprint: &str) -> Arc<str> {
        match self.long_text {
            LongText::Window => fingerprint.into(),
            LongText::Whole => format!("whole texts: {fingerprint}").into(),
        }
    }

    /// Returns the status of the embedder, as in `ScoringStatus` of lib/types. Never waits for a load.
    pub fn status(&self) -> Value {
        let Self { mode, model, .. } = self;
        let settings = &model.settings;
        let (state, reason, loaded) = match (mode, model.state()) {
            (Mode::Off, _) => ("unavailable", Some(OFF.into()), None),
            (_, LoadState::Idle) => ("idle", None, None),
            (_, LoadState::Loading) => ("loading", None, None),
            (_, LoadState::Ready(loaded)) => ("ready", None, Some(loaded)),
            (_, LoadState::Failed(error, _)) => ("unavailable", Some(error.to_string()), None),
        };
        let loaded = loaded.as_ref();
        let onnx_error = loaded.and_then(|loaded| loaded.onnx_error.as_ref());
        let backend = if onnx_error.is_some() { BackendKind::Native } else { settings.backend };
        let (library, version) = match backend {
            BackendKind::Onnx => (shown_path(settings.library()), library_version()),
            BackendKind::Native => (None, None),
        };
        json!({
            "mode": mode.name(),
            "backend": backend.name(),
            "precision": settings.precision.name(),
            "state": state,
            "reason": reason.or(onnx_error.map(ToString::to_string)),
            "model": shown_path(settings.folder()),
            "modelName": loaded.map(|loaded| self.name_of(loaded)),
            "dimensions": loaded.map(|loaded| loaded.dimensions),
            "maxTokens": loaded.map(|loaded| loaded.max_tokens()),
            "library": library,
            "libraryVersion": version,
            "loadMs": loaded.map(|loaded| loaded.times.milliseconds()),
        })
    }

    /// Returns the name of the loaded model; for one of the user, the name of its folder.
    fn name_of(&self, loaded: &Embedder) -> String {
        let folder = self.model.settings.folder().unwrap_or_default();
        let of_folder =
            || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into();
        loaded.name().map_or_else(of_folder, Into::into)
    }
}

impl Embed for ModelEmbedder {
    fn embed(&self, text: &str, cancel: &CancelToken) -> Result<Embedded, Arc<str>> {
        let failed = |error: EmbedError| Arc::from(error.to_string());
        let loaded = self.model.get().map_err(failed)?;
        let embedded = loaded.embed(text, self.long_text, cancel).map_err(failed)?;
        // Only the built-in model has a name of its own.
        if loaded.name().is_some() {
            let (letters, foreign) = script::count(text);
            self.letters.fetch_add(letters, Ordering::Relaxed);
            self.foreign.fetch_add(foreign, Ordering::Relaxed);
        }
        let identity = self.identity.get_or_init(|| {
            [self.name_of(&loaded).into(), self.with_long_text(&loaded.fingerprint)]
        });
        let [model_name, fingerprint] = identity.clone();
        Ok(Embedded {
            embedding: embedded.embedding,
            fingerprint,
            text: TextFacts {
                model_name,
                tokens: embedded.tokens,
                windows: embedded.windows,
                is_cut: embedded.is_cut,
                from_memo: embedded.from_memo,
                unknown_tokens: embedded.unknown_tokens,
            },
            tokenize: embedded.tokenize,
            infer: embedded.infer,
        })
    }

    fn is_required(&self) -> bool {
        self.mode == Mode::Required
    }
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
        if let (Some(Novelty::NoEmbedder(reason)), _) | (_, Outcome::WarmedUp(Err(reason))) =
            (novelty, outcome)
        {
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
                "scores texts mostly in scripts that the built-in model, an English one, does not know, so novelty hardly tells anything; the option model takes a multilingual one".into(),
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
