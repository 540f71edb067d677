//! The report on a score.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{embed::TextFacts, score::Score};

/// A score with its text and times. Serialised as `ScoreReport` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The score with its parts.
    #[serde(flatten)]
    pub score: Score,
    /// The text as embedded; `None` without an embedding.
    pub text: Option<TextFacts>,
    /// The time of each part.
    #[serde(rename = "timesMs")]
    pub times: Times,
    /// Whether the memory has a trace with its id, after which it is not added.
    #[serde(skip)]
    pub is_known: bool,
}

/// The time of each part of a call. Serialised in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Times {
    /// From the call to the answer.
    #[serde(serialize_with = "milliseconds")]
    pub total: Duration,
    /// Until a thread was free.
    #[serde(serialize_with = "milliseconds")]
    pub queue: Duration,
    /// For finding the tokens.
    #[serde(serialize_with = "milliseconds")]
    pub tokenize: Duration,
    /// In the model.
    #[serde(serialize_with = "milliseconds")]
    pub infer: Duration,
    /// Until earlier calls had been settled.
    #[serde(serialize_with = "milliseconds")]
    pub turn: Duration,
    /// In the memory.
    #[serde(serialize_with = "milliseconds")]
    pub cache: Duration,
}

/// Serialises a time as a number of milliseconds.
pub(crate) fn milliseconds<S: Serializer>(
    time: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1000.0)
}
