//! A score with all that is known of it.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{embed::TextFacts, score::Score};

/// A score, and what it took. Serialised as `ScoreReport` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The score, and how it came about.
    #[serde(flatten)]
    pub score: Score,
    /// What the model saw of the text; `None` where there was no embedding.
    pub text: Option<TextFacts>,
    /// Where the time went.
    #[serde(rename = "timesMs")]
    pub times: Times,
}

/// Where the time of a call went. Serialised in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Times {
    /// From the call to the answer.
    #[serde(serialize_with = "milliseconds")]
    pub total: Duration,
    /// Until a thread took the call up.
    #[serde(serialize_with = "milliseconds")]
    pub queue: Duration,
    /// For finding the tokens.
    #[serde(serialize_with = "milliseconds")]
    pub tokenize: Duration,
    /// In the model.
    #[serde(serialize_with = "milliseconds")]
    pub infer: Duration,
    /// Until the calls before had been settled.
    #[serde(serialize_with = "milliseconds")]
    pub turn: Duration,
    /// In the cache.
    #[serde(serialize_with = "milliseconds")]
    pub cache: Duration,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1000.0)
}
