//! All that is known of a score.

use std::time::Duration;

use crate::{embedder::TextFacts, score::Score};

/// A score, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub score: Score,
    /// What the model saw of the text; `None` where there was no embedding.
    pub text: Option<TextFacts>,
    pub times: Times,
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
