//! How the engine embeds with a model, the status of it, and the warnings about it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use knowledgepulse_embedder::{
    BackendKind, EMBEDDING_LEN, EmbedError, Embedder, LoadState, Pooling, Precision, SKETCH_LEN,
    SharedModel, TextBuffer, disable_telemetry, joined, library_version, sketch,
};
use knowledgepulse_scoring::{
    Error, Novelty, Result,
    embed::{CallEmbedder, Embed, Embedded, Text, TextFacts},
    scorer::Outcome,
};
use knowledgepulse_workers::{CancelToken, LOADS, Lane, WORKERS};
use napi::{
    Env,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object},
};
use once_cell::sync::OnceCell;
use serde_json::{Value, json};

use crate::js::forget_exception;

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

/// The vectors that novelty compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoveltyKind {
    /// Embeddings of the texts, as in the protocol.
    #[default]
    Text,
    /// Embeddings of the objectives, joined with sketches of the whole texts.
    Run,
    /// Sketches of the whole texts, for which no model is loaded.
    Words,
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

/// The name of `words`, in place of the name of a model.
const WORDS: &str = "words";
/// The fingerprint of `words`, and the beginning of that of `run`, for the present sketches.
const SKETCHES: [&str; 2] = ["words 2", "run 2: "];

/// Why there is no embedding, as an error of the engine.
fn unavailable(error: EmbedError) -> Error {
    match error {
        EmbedError::Library(_) => Error::library_unavailable(error),
        _ => Error::embedder_unavailable(error),
    }
}

/// Returns a path as text; `None` if there is none.
fn shown_path(path: Result<PathBuf, EmbedError>) -> Option<String> {
    path.ok().map(|path| path.display().to_string())
}

/// A shared model, as one scorer uses it.
pub struct ModelEmbedder {
    pub mode: Mode,
    pub model: Arc<SharedModel>,
    pub novelty: NoveltyKind,
    /// That of selections, unless `novelty` was set: it compares runs.
    pub for_selections: Option<Arc<ModelEmbedder>>,
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
    /// Returns an embedder with a model; `novelty` is `None` for the default. Loads nothing.
    pub fn new(
        mode: Mode,
        model: &Arc<SharedModel>,
        novelty: Option<NoveltyKind>,
        threshold: f64,
    ) -> Arc<Self> {
        let for_selections = || Self::new(mode, model, Some(NoveltyKind::Run), threshold);
        Arc::new(Self {
            mode,
            model: model.clone(),
            novelty: novelty.unwrap_or_default(),
            for_selections: novelty.is_none().then(for_selections),
            threshold,
            identity: OnceCell::new(),
            letters: AtomicUsize::new(0),
            foreign: AtomicUsize::new(0),
        })
    }

    /// Returns the embedder of a call, or the reason for its absence.
    pub fn available(self: &Arc<Self>) -> CallEmbedder {
        match self.mode {
            Mode::Off => Err(Error::embedder_unavailable(OFF)),
            Mode::Auto | Mode::Required => Ok(self.clone()),
        }
    }

    /// Looks for ONNX Runtime by `find` before a load that needs it.
    pub fn find_library(&self, find: impl FnOnce() -> Result<PathBuf, String>) {
        let is_used = self.mode != Mode::Off && self.novelty != NoveltyKind::Words;
        if !is_used || self.model.is_quick() || matches!(self.model.state(), LoadState::Loading) {
            return;
        }
        disable_telemetry();
        if self.model.settings.library.is_err() {
            self.model.set_library(find().map_err(EmbedError::Library));
        }
    }

    /// Returns a buffer that keeps the part of a text that is needed.
    pub fn text_buffer(&self) -> TextBuffer {
        match self.novelty {
            NoveltyKind::Text => TextBuffer::new(&self.model.settings),
            NoveltyKind::Run | NoveltyKind::Words => TextBuffer::whole(),
        }
    }

    /// Returns the length of the vectors, for which a custom model is loaded.
    pub fn dimensions(&self) -> Result<usize> {
        let loaded = || {
            let model = self.model.get().map_err(|error| Error::of_required(unavailable(error)))?;
            Ok(self.dimensions_with(model.dimensions))
        };
        self.known_dimensions().map_or_else(loaded, Ok)
    }

    /// Returns the length of the vectors, unless it is that of a custom model.
    pub fn known_dimensions(&self) -> Option<usize> {
        let is_custom = self.model.settings.model.is_some() && self.novelty != NoveltyKind::Words;
        (!is_custom).then(|| self.dimensions_with(EMBEDDING_LEN))
    }

    fn dimensions_with(&self, embedding: usize) -> usize {
        match self.novelty {
            NoveltyKind::Text => embedding,
            NoveltyKind::Run => embedding + SKETCH_LEN,
            NoveltyKind::Words => SKETCH_LEN,
        }
    }

    /// Returns the fingerprint of the vectors, without loading the model.
    pub fn fingerprint(&self) -> Result<Arc<str>> {
        if self.novelty == NoveltyKind::Words {
            return Ok(SKETCHES[0].into());
        }
        if let Some([_, fingerprint]) = self.identity.get() {
            return Ok(fingerprint.clone());
        }
        let model = self.model.fingerprint();
        Ok(self.fingerprint_with(&model.map_err(|error| Error::of_required(unavailable(error)))?))
    }

    /// Vectors of other kinds must not be compared.
    fn fingerprint_with(&self, model: &str) -> Arc<str> {
        let kind = if self.novelty == NoveltyKind::Run { SKETCHES[1] } else { "" };
        format!("{kind}{model}").into()
    }

    /// Returns the lane for work that reads the files of the model, which takes long for one of the user.
    pub fn lane(&self) -> &'static Lane {
        if self.known_dimensions().is_none() { &LOADS } else { &WORKERS }
    }

    /// Returns the status of the embedder, as in `ScoringStatus` of lib/types. Never waits for a load.
    pub fn status(&self) -> Value {
        let Self { mode, model, novelty, .. } = self;
        let settings = &model.settings;
        let uses_model = *novelty != NoveltyKind::Words;
        let (state, reason, loaded) = match (mode, model.state()) {
            (Mode::Off, _) => ("unavailable", Some(OFF.into()), None),
            _ if !uses_model => ("ready", None, None),
            (_, LoadState::Idle) => ("idle", None, None),
            (_, LoadState::Loading) => ("loading", None, None),
            (_, LoadState::Ready(loaded)) => ("ready", None, Some(loaded)),
            (_, LoadState::Failed(error, _)) => ("unavailable", Some(error.to_string()), None),
        };
        let loaded = loaded.as_ref();
        let backend = settings.backend.unwrap_or(BackendKind::Native);
        let (library, version) = match backend {
            BackendKind::Onnx if uses_model => (shown_path(model.library()), library_version()),
            BackendKind::Onnx | BackendKind::Native => (None, None),
        };
        let sketch = (!uses_model).then_some(SKETCH_LEN);
        json!({
            "mode": mode.name(),
            "backend": backend.name(),
            "precision": settings.precision.name(),
            "state": state,
            "reason": reason,
            "model": uses_model.then(|| shown_path(settings.folder())),
            "modelName": loaded.map(|loaded| self.name_of(loaded)),
            "dimensions": loaded.map(|loaded| self.dimensions_with(loaded.dimensions)).or(sketch),
            "maxTokens": loaded.map(|loaded| loaded.max_tokens()),
            "library": library,
            "libraryVersion": version,
            "loadMs": loaded.map(|loaded| 1e3 * loaded.load_time.as_secs_f64()),
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
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded> {
        let novelty = self.novelty.name();
        let seen = match self.novelty {
            NoveltyKind::Text => text.whole(),
            NoveltyKind::Run => text.objective(),
            NoveltyKind::Words => {
                let begun = Instant::now();
                return Ok(Embedded {
                    embedding: sketch(text.whole(), cancel).map_err(unavailable)?,
                    fingerprint: SKETCHES[0].into(),
                    text: TextFacts { novelty, model_name: WORDS.into(), ..TextFacts::default() },
                    infer: begun.elapsed(),
                    ..Embedded::default()
                });
            }
        };
        let loaded = self.model.get().map_err(unavailable)?;
        let mut embedded = loaded.embed(seen, cancel).map_err(unavailable)?;
        if self.novelty == NoveltyKind::Run {
            let begun = Instant::now();
            let sketch = sketch(text.whole(), cancel).map_err(unavailable)?;
            embedded.embedding = joined(&embedded.embedding, &sketch);
            embedded.infer += begun.elapsed();
        }
        // Only the built-in model has a name of its own.
        if loaded.name().is_some() {
            let (letters, foreign) = letters_of(seen);
            self.letters.fetch_add(letters, Ordering::Relaxed);
            self.foreign.fetch_add(foreign, Ordering::Relaxed);
        }
        let identity = self.identity.get_or_init(|| {
            [self.name_of(&loaded).into(), self.fingerprint_with(&loaded.fingerprint)]
        });
        let [model_name, fingerprint] = identity.clone();
        Ok(Embedded {
            embedding: embedded.embedding,
            fingerprint,
            text: TextFacts {
                novelty,
                model_name,
                tokens: embedded.tokens,
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

    fn is_quick(&self) -> bool {
        self.novelty == NoveltyKind::Words || self.model.is_quick()
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

/// How many characters of a text are counted.
const MOST_CHARS: usize = 2048;

/// Returns the number of letters in the beginning of a text, and how many of them are not Latin.
fn letters_of(text: &str) -> (usize, usize) {
    let letters = || text.chars().take(MOST_CHARS).filter(|c| c.is_alphabetic());
    (letters().count(), letters().filter(|c| !is_latin(*c)).count())
}

/// Whether a letter is Latin, full-width variants included.
fn is_latin(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{2af}'
            | '\u{1d00}'..='\u{1dbf}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{ab30}'..='\u{ab6f}'
            | '\u{fb00}'..='\u{fb06}'
            | '\u{ff21}'..='\u{ff5a}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_tells_latin_letters_from_others() {
        for (text, expected) in [
            ("Fix the test, 42!", (10, 0)),
            ("¿Qué es la fotosíntesis?", (19, 0)),
            ("修复测试 in CI", (8, 4)),
            ("Исправить", (9, 9)),
            ("テスト", (3, 3)),
            ("테스트를", (4, 4)),
            ("", (0, 0)),
        ] {
            assert_eq!(letters_of(text), expected, "{text:?}");
        }
    }
}
