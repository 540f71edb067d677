//! The model as the engine uses it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use knowledgepulse_embedder::{Embedder, LongText, SharedModel, TextBuffer};
use knowledgepulse_scoring::{
    Error, Result,
    embed::{Embed, Embedded, TextFacts},
};
use knowledgepulse_workers::CancelToken;
use once_cell::sync::OnceCell;

use crate::script;

/// So many letters have to be seen before anything is said of their scripts.
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

/// A shared model, and how one scorer uses it.
pub struct ModelEmbedder {
    pub mode: Mode,
    pub model: Arc<SharedModel>,
    pub long_text: LongText,
    /// Name and fingerprint of the loaded model, as reports and caches have them.
    identity: OnceCell<[Arc<str>; 2]>,
    /// The letters that the built-in model has seen, and those of them in scripts that it does not know.
    letters: AtomicUsize,
    foreign: AtomicUsize,
}

impl ModelEmbedder {
    /// Why there is no embedding where the embedder is switched off.
    pub const OFF: &'static str = "switched off";

    /// Returns an embedder with a model that is loaded when it is needed.
    pub fn new(mode: Mode, model: Arc<SharedModel>, long_text: LongText) -> Self {
        let (identity, letters, foreign) = Default::default();
        Self { mode, model, long_text, identity, letters, foreign }
    }

    /// Returns what keeps a text for this model.
    pub fn text_buffer(&self) -> TextBuffer {
        TextBuffer::new(self.long_text, self.model.settings())
    }

    /// Returns what embeddings depend on, without loading the model.
    pub fn fingerprint(&self) -> Result<String> {
        if let Some([_, fingerprint]) = self.identity.get() {
            return Ok(fingerprint.as_ref().into());
        }
        let model = knowledgepulse_embedder::fingerprint(self.model.settings());
        Ok(self.with_long_text(&model.map_err(Error::embedder_unavailable)?))
    }

    /// Embeddings of whole texts are not to be compared with those of their beginnings.
    fn with_long_text(&self, fingerprint: &str) -> String {
        match self.long_text {
            LongText::Window => fingerprint.into(),
            LongText::Whole => format!("whole texts: {fingerprint}"),
        }
    }

    /// Returns the name of the loaded model: of one of the user's own, that of its folder.
    pub fn name_of(&self, loaded: &Embedder) -> String {
        let folder = self.model.settings().folder();
        let of_folder =
            || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into();
        loaded.name().map_or_else(of_folder, Into::into)
    }

    fn identity(&self, loaded: &Embedder) -> &[Arc<str>; 2] {
        self.identity.get_or_init(|| {
            let fingerprint = self.with_long_text(loaded.fingerprint());
            [self.name_of(loaded).into(), fingerprint.into()]
        })
    }

    /// Returns whether most of what the built-in model has seen is in scripts that it does not know.
    pub fn sees_unknown_scripts(&self) -> bool {
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
        let knowledgepulse_embedder::TextFacts {
            tokens,
            windows,
            is_cut,
            from_memo,
            unknown_tokens,
        } = embedded.text;
        Ok(Embedded {
            embedding: embedded.embedding,
            fingerprint,
            text: TextFacts { model, tokens, windows, is_cut, from_memo, unknown_tokens },
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
