//! The model: its settings, which the environment and `configure` give; how the engine embeds with it; its
//! status, and the warnings about it.

mod script;

use std::{
    env,
    ffi::OsStr,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use knowledgepulse_embedder::{
    BackendKind, Embedder, LoadState, LongText, ModelOptions, ModelSettings, Pooling, Precision,
    SharedModel, TextBuffer, loaded_library,
};
use knowledgepulse_scoring::{
    Error, Invalid, Novelty, Result,
    embed::{Embed, Embedded, TextFacts},
    scorer::Outcome,
    trace::quote,
};
use knowledgepulse_workers::CancelToken;
use napi::{
    Env,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object},
};
use once_cell::sync::OnceCell;
use serde_json::{Value, json};

use crate::js::{
    self, Read, forget_exception,
    options::{boolean, number_in, positive, string},
};

/// The folder of the addon, with model and library beside it. Empty where JavaScript does not know it.
pub static ADDON_FOLDER: OnceCell<PathBuf> = OnceCell::new();

/// How many letters must have been seen before their scripts are judged.
const ENOUGH_LETTERS: usize = 200;

/// Whether scores use the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Use it; where it is not available, novelty is neutral and the status says why.
    #[default]
    Auto,
    /// Do not use it: novelty is neutral.
    Off,
    /// Use it; where it is not available, scoring fails.
    Required,
}

/// A setting whose values have names in options, environment variables and reports.
pub trait Choice: Copy + PartialEq + 'static {
    /// The names. A value without one cannot be chosen.
    const NAMES: &'static [(&'static str, Self)];

    /// Returns the name of the value.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }

    /// Returns the value with this name. Fails with `INVALID_OPTION`, which names the `path`.
    fn parse(path: &str, name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| format!("{name:?}")).collect();
            let (last, others) = names.split_last().expect("at least one name");
            let expected = format!("{} or {last}", others.join(", "));
            Error::invalid(Invalid::Option, path, expected, format!("{name:?}"))
        })
    }
}

impl Choice for Mode {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("off", Self::Off), ("required", Self::Required)];
}

impl Choice for BackendKind {
    const NAMES: &'static [(&'static str, Self)] =
        &[("onnx", Self::Onnx), ("native", Self::Native)];
}

impl Choice for Precision {
    const NAMES: &'static [(&'static str, Self)] = &[("exact", Self::Exact), ("fast", Self::Fast)];
}

impl Choice for Pooling {
    const NAMES: &'static [(&'static str, Self)] =
        &[("mean", Self::Mean), ("cls", Self::Cls), ("last", Self::Last)];
}

impl Choice for LongText {
    const NAMES: &'static [(&'static str, Self)] =
        &[("window", Self::Window), ("whole", Self::Whole)];
}

/// A value of an option, which an environment variable can give as well. A wrong one is `INVALID_OPTION`, which
/// names the `path`.
pub trait Setting: Sized {
    /// Returns the value that a text gives.
    fn parse(path: &str, text: &OsStr) -> Result<Self>;

    /// Returns the value from JavaScript, which is a string unless the type says otherwise.
    fn from_js(path: &str, value: &js::Value) -> Read<Self> {
        Ok(Self::parse(path, OsStr::new(&string(path, value)?))?)
    }
}

impl<T: Choice> Setting for T {
    fn parse(path: &str, text: &OsStr) -> Result<Self> {
        Choice::parse(path, &text.to_string_lossy())
    }
}

impl Setting for bool {
    fn parse(path: &str, text: &OsStr) -> Result<Self> {
        let text = text.to_string_lossy();
        let expected = "\"true\" or \"false\"";
        text.parse().map_err(|_| Error::invalid(Invalid::Option, path, expected, quote(&text)))
    }

    fn from_js(path: &str, value: &js::Value) -> Read<Self> {
        boolean(path, value)
    }
}

/// The score from which on a trace is accepted. Default: that of the KnowledgePulse protocol.
#[derive(Debug, Clone, Copy)]
pub struct Threshold(pub f64);

impl Default for Threshold {
    fn default() -> Self {
        Self(0.75)
    }
}

impl Setting for Threshold {
    fn parse(path: &str, text: &OsStr) -> Result<Self> {
        let text = text.to_string_lossy();
        let share = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        let expected = "a number in [0, 1]";
        let invalid = || Error::invalid(Invalid::Option, path, expected, quote(&text));
        share.map(Self).ok_or_else(invalid)
    }

    fn from_js(path: &str, value: &js::Value) -> Read<Self> {
        number_in(path, value, 0.0..=1.0).map(Self)
    }
}

impl Setting for NonZeroUsize {
    fn parse(path: &str, text: &OsStr) -> Result<Self> {
        let text = text.to_string_lossy();
        let expected = "a positive integer";
        text.parse().map_err(|_| Error::invalid(Invalid::Option, path, expected, quote(&text)))
    }

    fn from_js(path: &str, value: &js::Value) -> Read<Self> {
        positive(path, value)
    }
}

impl Setting for String {
    fn parse(_: &str, text: &OsStr) -> Result<Self> {
        Ok(text.to_string_lossy().into())
    }
}

impl Setting for PathBuf {
    fn parse(_: &str, text: &OsStr) -> Result<Self> {
        Ok(text.into())
    }
}

/// Gives options by their names in JavaScript.
pub trait Source {
    type Error;

    /// Returns an option, `None` if it is not given.
    fn get<T: Setting>(&mut self, name: &'static str) -> Result<Option<T>, Self::Error>;
}

/// The environment variables.
#[derive(Default)]
struct Variables {
    /// The options whose variables have wrong values.
    invalid: Vec<(&'static str, Error)>,
}

impl Source for Variables {
    type Error = Error;

    fn get<T: Setting>(&mut self, name: &'static str) -> Result<Option<T>> {
        let mut variable = String::from("KNOWLEDGEPULSE_SCORING_");
        for letter in name.chars() {
            if letter.is_uppercase() {
                variable.push('_');
            }
            variable.push(letter.to_ascii_uppercase());
        }
        let Some(text) = env::var_os(&variable).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        Ok(T::parse(&variable, &text).map_err(|error| self.invalid.push((name, error))).ok())
    }
}

/// New values for settings: of the embedder, and the threshold.
#[derive(Debug, Clone, Default)]
pub struct EmbedderOptions {
    given: Vec<String>,
    mode: Option<Mode>,
    backend: Option<BackendKind>,
    precision: Option<Precision>,
    model: Option<PathBuf>,
    of_model: ModelOptions,
    library: Option<PathBuf>,
    threshold: Option<Threshold>,
}

impl EmbedderOptions {
    /// The names in JavaScript.
    pub const NAMES: [&str; 11] = [
        "embedder",
        "backend",
        "precision",
        "model",
        "pooling",
        "normalize",
        "maxTokens",
        "prefix",
        "output",
        "library",
        "threshold",
    ];

    /// Reads all options from a source. `given` are the names of those that it has.
    pub fn read<S: Source>(source: &mut S, given: Vec<String>) -> Result<Self, S::Error> {
        Ok(Self {
            mode: source.get("embedder")?,
            backend: source.get("backend")?,
            precision: source.get("precision")?,
            model: source.get("model")?,
            of_model: ModelOptions {
                pooling: source.get("pooling")?,
                normalize: source.get("normalize")?,
                max_tokens: source.get("maxTokens")?.map(NonZeroUsize::get),
                prefix: source.get("prefix")?,
                output: source.get("output")?,
            },
            library: source.get("library")?,
            threshold: source.get("threshold")?,
            given,
        })
    }

    fn gives(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }
}

/// Whether the embedder is used, and with which model; the threshold.
#[derive(Debug, Clone)]
struct Settings {
    mode: Mode,
    model: ModelSettings,
    threshold: Threshold,
}

impl Settings {
    /// Returns the settings with other values. Another model resets what describes it.
    fn with(&self, options: EmbedderOptions) -> Self {
        let EmbedderOptions {
            mode, backend, precision, model, of_model, library, threshold, ..
        } = options;
        let current = self.model.clone();
        let described = if model.is_some() { ModelOptions::default() } else { current.options };
        let model = ModelSettings {
            model: model.or(current.model),
            options: ModelOptions {
                pooling: of_model.pooling.or(described.pooling),
                normalize: of_model.normalize.or(described.normalize),
                max_tokens: of_model.max_tokens.or(described.max_tokens),
                prefix: of_model.prefix.or(described.prefix),
                output: of_model.output.or(described.output),
            },
            backend: backend.unwrap_or(current.backend),
            library: library.unwrap_or(current.library),
            precision: precision.unwrap_or(current.precision),
            ..current
        };
        let threshold = threshold.unwrap_or(self.threshold);
        Self { mode: mode.unwrap_or(self.mode), model, threshold }
    }

    /// Returns an embedder with these settings. Loads nothing.
    fn embedder(&self, long_text: LongText) -> Arc<ModelEmbedder> {
        let model = SharedModel::with(self.model.clone());
        Arc::new(ModelEmbedder::new(self, model, long_text))
    }
}

/// The settings of the process, for calls from now on.
struct Current {
    settings: Settings,
    embedder: Arc<ModelEmbedder>,
    /// The options whose variables have wrong values, until `configure` gives others.
    invalid: Vec<(&'static str, Error)>,
}

impl Current {
    fn from_environment() -> Self {
        let model = ModelSettings::beside(ADDON_FOLDER.get_or_init(PathBuf::new));
        let mut variables = Variables::default();
        let options = EmbedderOptions::read(&mut variables, Vec::new()).unwrap_or_default();
        let (mode, threshold) = Default::default();
        let settings = Settings { mode, model, threshold }.with(options);
        let embedder = settings.embedder(LongText::default());
        Self { settings, embedder, invalid: variables.invalid }
    }

    /// Returns the error of the first variable with a wrong value for which `options` give no other.
    fn check(&self, options: &EmbedderOptions) -> Result<()> {
        let invalid = self.invalid.iter().find(|(name, _)| !options.gives(name));
        invalid.map_or(Ok(()), |(_, error)| Err(error.clone()))
    }
}

/// Shared by all environments of the process.
fn current() -> &'static RwLock<Current> {
    static CURRENT: OnceCell<RwLock<Current>> = OnceCell::new();
    CURRENT.get_or_init(|| RwLock::new(Current::from_environment()))
}

/// Returns the embedder of the process. Loads nothing.
pub fn embedder() -> Result<Arc<ModelEmbedder>> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    current.check(&EmbedderOptions::default())?;
    Ok(current.embedder.clone())
}

/// Returns an embedder with the present settings of the process, changed by `options`.
pub fn embedder_with(
    options: EmbedderOptions,
    threads: Option<usize>,
    long_text: LongText,
) -> Result<Arc<ModelEmbedder>> {
    let current = current().read().unwrap_or_else(PoisonError::into_inner);
    current.check(&options)?;
    let mut settings = current.settings.with(options);
    settings.model.threads = threads.unwrap_or(settings.model.threads);
    Ok(settings.embedder(long_text))
}

/// Changes the settings of the process. The same settings keep the model that is loaded, and forget
/// a failure to load it.
pub fn configure(options: EmbedderOptions) {
    let mut current = current().write().unwrap_or_else(PoisonError::into_inner);
    current.invalid.retain(|(name, _)| !options.gives(name));
    current.settings = current.settings.with(options);
    current.embedder = current.settings.embedder(LongText::default());
}

/// A shared model, as one scorer uses it.
pub struct ModelEmbedder {
    pub mode: Mode,
    pub model: Arc<SharedModel>,
    pub long_text: LongText,
    /// That of decisions without one.
    pub threshold: Threshold,
    /// The name and the fingerprint of the loaded model.
    identity: OnceCell<[Arc<str>; 2]>,
    /// How many letters the built-in model has seen.
    letters: AtomicUsize,
    /// How many of them are in scripts that it does not know.
    foreign: AtomicUsize,
}

impl ModelEmbedder {
    /// Why there is no embedding where the embedder is switched off.
    pub const OFF: &'static str = "switched off";

    /// Returns an embedder with a model that is loaded when it is needed.
    fn new(settings: &Settings, model: Arc<SharedModel>, long_text: LongText) -> Self {
        let (identity, letters, foreign) = Default::default();
        let Settings { mode, threshold, .. } = *settings;
        Self { mode, model, long_text, threshold, identity, letters, foreign }
    }

    /// Returns a buffer that keeps as much of a text as this model needs.
    pub fn text_buffer(&self) -> TextBuffer {
        TextBuffer::new(self.long_text, self.model.settings())
    }

    /// Returns the fingerprint of what embeddings depend on, without loading the model.
    pub fn fingerprint(&self) -> Result<String> {
        if let Some([_, fingerprint]) = self.identity.get() {
            return Ok(fingerprint.as_ref().into());
        }
        let model = knowledgepulse_embedder::fingerprint(self.model.settings());
        Ok(self.with_long_text(&model.map_err(Error::embedder_unavailable)?))
    }

    /// Embeddings of whole texts must not be compared with those of windows.
    fn with_long_text(&self, fingerprint: &str) -> String {
        match self.long_text {
            LongText::Window => fingerprint.into(),
            LongText::Whole => format!("whole texts: {fingerprint}"),
        }
    }

    /// Returns the status of the embedder, as in `ScoringStatus` of lib/types. Never waits for a load.
    pub fn status(&self) -> Value {
        let Self { mode, model, .. } = self;
        let settings = model.settings();
        let (state, reason, loaded) = match (mode, model.state()) {
            (Mode::Off, _) => ("unavailable", Some(Self::OFF.into()), None),
            (_, LoadState::Idle) => ("idle", None, None),
            (_, LoadState::Loading) => ("loading", None, None),
            (_, LoadState::Ready(loaded)) => ("ready", None, Some(loaded)),
            (_, LoadState::Failed { error, .. }) => ("unavailable", Some(error.to_string()), None),
        };
        let loaded = loaded.as_ref();
        let onnx_error = loaded.and_then(|loaded| loaded.onnx_error.as_ref());
        let backend = if onnx_error.is_some() { BackendKind::Native } else { settings.backend };
        let (library, version) = match backend {
            BackendKind::Onnx => (Some(settings.library.display().to_string()), loaded_library()),
            BackendKind::Native => (None, None),
        };
        json!({
            "mode": mode.name(),
            "backend": backend.name(),
            "precision": settings.precision.name(),
            "state": state,
            "reason": reason.or(onnx_error.map(ToString::to_string)),
            "model": settings.folder().display().to_string(),
            "modelName": loaded.map(|loaded| self.name_of(loaded)),
            "dimensions": loaded.map(|loaded| loaded.dimensions),
            "maxTokens": loaded.map(|loaded| loaded.max_tokens()),
            "library": library,
            "libraryVersion": version.map(|(_, version)| version),
        })
    }

    /// Returns the name of the loaded model; for one of the user, the name of its folder.
    fn name_of(&self, loaded: &Embedder) -> String {
        let folder = self.model.settings().folder();
        let of_folder =
            || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into();
        loaded.name().map_or_else(of_folder, Into::into)
    }

    fn identity(&self, loaded: &Embedder) -> &[Arc<str>; 2] {
        self.identity.get_or_init(|| {
            let fingerprint = self.with_long_text(&loaded.fingerprint);
            [self.name_of(loaded).into(), fingerprint.into()]
        })
    }

    /// Returns whether most of what the built-in model has seen is in scripts that it does not know.
    fn sees_unknown_scripts(&self) -> bool {
        let letters = self.letters.load(Ordering::Relaxed);
        letters >= ENOUGH_LETTERS && self.foreign.load(Ordering::Relaxed) > letters / 2
    }
}

impl Embed for ModelEmbedder {
    fn embed(&self, text: &str, cancel: &CancelToken) -> Result<Embedded, Arc<str>> {
        if let Some(reason) = self.unavailable_reason() {
            return Err(reason);
        }
        let failed = |error: knowledgepulse_embedder::EmbedError| Arc::from(error.to_string());
        let loaded = self.model.get().map_err(failed)?;
        let embedded = loaded.embed(text, self.long_text, cancel).map_err(failed)?;
        // Only the built-in model has a name of its own.
        if loaded.name().is_some() {
            let (letters, foreign) = script::count(text);
            self.letters.fetch_add(letters, Ordering::Relaxed);
            self.foreign.fetch_add(foreign, Ordering::Relaxed);
        }
        let [model, fingerprint] = self.identity(&loaded).clone();
        Ok(Embedded {
            embedding: embedded.embedding,
            fingerprint,
            text: TextFacts {
                model,
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

    fn unavailable_reason(&self) -> Option<Arc<str>> {
        (self.mode == Mode::Off).then(|| Self::OFF.into())
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
    /// Returns the warning that a call gives rise to.
    pub fn of(embedder: &ModelEmbedder, outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Scored(report) => Self::of_novelty(embedder, &report.score.novelty),
            Outcome::WarmedUp(Err(reason)) => Some(Self::WithoutEmbedder(reason.clone())),
            _ => Self::of_scripts(embedder),
        }
    }

    /// Returns the warning that a score gives rise to.
    pub fn of_novelty(embedder: &ModelEmbedder, novelty: &Novelty) -> Option<Self> {
        match novelty {
            Novelty::NoEmbedder { reason } => Some(Self::WithoutEmbedder(reason.clone())),
            _ => Self::of_scripts(embedder),
        }
    }

    fn of_scripts(embedder: &ModelEmbedder) -> Option<Self> {
        embedder.sees_unknown_scripts().then_some(Self::UnknownScripts)
    }

    /// Emits the warning, unless that was done before.
    pub fn emit(&self, env: &Env) {
        static EMITTED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        let emitted = match self {
            Self::WithoutEmbedder(_) => &EMITTED[0],
            Self::UnknownScripts => &EMITTED[1],
        };
        // `emitWarning` may have been replaced by a function that throws; the score matters more.
        if !emitted.swap(true, Ordering::Relaxed) && self.emit_warning(env).is_err() {
            forget_exception(env);
        }
    }

    fn emit_warning(&self, env: &Env) -> napi::Result<()> {
        let (message, code) = match self {
            Self::WithoutEmbedder(reason) => (
                format!("works without its embedder, so every novelty is 0.5: {reason}"),
                "KNOWLEDGEPULSE_NO_EMBEDDER",
            ),
            Self::UnknownScripts => (
                "scores texts mostly in scripts that the built-in model, an English one, does not know, so novelty hardly tells anything; the option model takes a multilingual one".into(),
                "KNOWLEDGEPULSE_UNKNOWN_SCRIPTS",
            ),
        };
        let process: Object = env.get_global()?.get_named_property("process")?;
        let emit: Function<FnArgs<(String, &str, &str)>, ()> =
            process.get_named_property("emitWarning")?;
        let message = format!("@knowledgepulse/scoring {message}");
        emit.apply(process, (message, "KnowledgePulseWarning", code).into())
    }
}
