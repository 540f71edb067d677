//! The embedder as a scorer uses it.

use std::{sync::Arc, time::Duration};

use knowledgepulse_workers::CancelToken;
use serde::Serialize;

use crate::error::Result;

/// The text of a trace: its objective, then the contents of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    whole: String,
    /// The bytes of the objective.
    objective: usize,
}

impl Text {
    /// Returns a text, at least the part of it that is embedded, whose objective is its first `objective` bytes.
    pub fn new(whole: String, objective: usize) -> Self {
        Self { whole, objective }
    }

    /// Returns the whole text, or the part that was kept.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// Returns the objective, or the part that was kept.
    pub fn objective(&self) -> &str {
        self.whole.get(..self.objective).unwrap_or(&self.whole)
    }
}

impl<T: Into<String>> From<T> for Text {
    /// A text without steps is an objective.
    fn from(text: T) -> Self {
        let whole = text.into();
        Self { objective: whole.len(), whole }
    }
}

/// Turns text into a vector, on the threads of the scorer.
pub trait Embed: Send + Sync {
    /// Returns the embedding of a text, after loading what that needs. May end early with any error once `cancel` is cancelled.
    ///
    /// # Errors
    ///
    /// The reason: `EMBEDDER_UNAVAILABLE` or `LIBRARY_UNAVAILABLE`.
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded>;

    /// Returns whether a score without an embedding is an error.
    fn is_required(&self) -> bool;

    /// Returns whether texts can be embedded now, without first loading for seconds.
    fn is_quick(&self) -> bool {
        true
    }
}

/// The embedder for a call, or the reason why there is none.
pub type CallEmbedder = Result<Arc<dyn Embed>>;

/// An embedding, with facts about the text and the time it took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embedded {
    /// The vector. All vectors of a model have the same length.
    pub embedding: Box<[f32]>,
    /// Identifies the model: vectors of different models are never compared.
    pub fingerprint: Arc<str>,
    /// The part of the text that the model saw.
    pub text: TextFacts,
    /// The time of tokenization.
    pub tokenize: Duration,
    /// The time of inference, or of the lookup in the memo.
    pub infer: Duration,
}

/// The part of a text that the model saw.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextFacts {
    /// What novelty compares, by the name of the setting.
    pub novelty: &'static str,
    /// The name of the model.
    pub model_name: Arc<str>,
    /// Tokens, the special ones included.
    pub tokens: usize,
    /// Whether the text has more tokens.
    pub is_cut: bool,
    /// Whether the embedding is that of an earlier text with the same tokens.
    pub from_memo: bool,
    /// The share of tokens, without special ones, that are unknown to the vocabulary, in \[0, 1\].
    pub unknown_tokens: f64,
}
