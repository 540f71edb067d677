//! How the engine embeds with a model, and the status of it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use knowledgepulse_embedder::{
    BackendKind, EMBEDDING_LEN, EmbedError, Embedder, LoadState, SKETCH_LEN, SharedModel,
    TextBuffer, disable_telemetry, joined, library_version, sketch,
};
use knowledgepulse_scoring::{
    Error, Result,
    embed::{CallEmbedder, Embed, Embedded, Text, TextFacts},
};
use knowledgepulse_workers::{CancelToken, Job, LOADS, Lane, WORKERS};
use once_cell::sync::OnceCell;
use serde_json::{Value, json};

use super::{Choice, Mode, script};

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
    pub(super) identity: OnceCell<[Arc<str>; 2]>,
    /// The number of letters that the built-in model has seen.
    pub(super) letters: AtomicUsize,
    /// The number of these in scripts that it does not know.
    pub(super) foreign: AtomicUsize,
}

/// The reason while the embedder is switched off.
const OFF: &str = "switched off";

impl ModelEmbedder {
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
            let (letters, foreign) = script::count(seen);
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

    fn load_then(&self, then: Job) {
        self.model.load_then(then);
    }
}
