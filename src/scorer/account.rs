//! All that is known of a score.

use std::time::Duration;

use crate::score::Score;

/// A score, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub score: Score,
    /// `None` where there was no embedding.
    pub text: Option<TextFacts>,
    pub times: Times,
}

/// What the model saw of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFacts {
    /// Tokens, the special ones included.
    pub tokens: usize,
    /// Whether the text went on after them.
    pub is_cut: bool,
    /// Whether the same tokens had been embedded before.
    pub is_remembered: bool,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// From the call to the answer.
    pub total: Duration,
    /// Until a thread took the call up.
    pub queue: Duration,
    pub tokenize: Duration,
    /// In the model, the time for loading it included.
    pub infer: Duration,
    /// Until the calls before had been settled.
    pub turn: Duration,
    /// In the cache.
    pub cache: Duration,
}
