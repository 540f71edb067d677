//! The model as the engine uses it.

use std::sync::Arc;

use knowledgepulse_embedder::{LongText, ModelFiles, SharedModel};
use knowledgepulse_scoring::{
    Error, Result,
    embed::{Embed, Embedded, TextFacts},
};
use knowledgepulse_tasks::CancelToken;

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
}

impl ModelEmbedder {
    /// Why there is no embedding where the embedder is switched off.
    pub const OFF: &'static str = "switched off";

    /// Returns what embeddings depend on, without loading the model: those of whole texts are not to be
    /// compared with those of their beginnings.
    pub fn fingerprint(&self) -> Result<String> {
        let files = ModelFiles::open(&self.model.settings().model_dir);
        let model = files.and_then(|files| files.fingerprint());
        let model = model.map_err(Error::embedder_unavailable)?;
        Ok(match self.long_text {
            LongText::Window => model,
            LongText::Whole => format!("whole texts: {model}"),
        })
    }
}

impl Embed for ModelEmbedder {
    fn embed(&self, text: &str, cancel: &CancelToken) -> Result<Embedded, Arc<str>> {
        if let Some(reason) = self.absence() {
            return Err(reason);
        }
        let embedded = self.model.get().and_then(|model| model.embed(text, self.long_text, cancel));
        let embedded = embedded.map_err(|error| error.to_string())?;
        let knowledgepulse_embedder::TextFacts { tokens, windows, is_cut, from_memo } =
            embedded.text;
        Ok(Embedded {
            embedding: embedded.embedding,
            text: TextFacts { tokens, windows, is_cut, from_memo },
            tokenize: embedded.tokenize,
            infer: embedded.infer,
        })
    }

    fn is_required(&self) -> bool {
        self.mode == Mode::Required
    }

    fn absence(&self) -> Option<Arc<str>> {
        (self.mode == Mode::Off).then(|| Self::OFF.into())
    }
}
