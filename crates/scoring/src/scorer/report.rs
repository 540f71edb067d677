//! The outcome of a call, and the report on a score.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, Serializer};

use crate::{embed::TextFacts, score::Score, select::Candidate};

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The trace has this score.
    Scored(Box<Report>),
    /// The trace is in the memory.
    Remembered,
    /// This many traces were removed from the memory.
    Removed(usize),
    /// The most similar traces in the memory, the most similar first, the oldest first among equals.
    Found(Vec<Found>),
    /// The embedding of the text.
    Embedded(Box<[f32]>),
    /// The trace with its embedding, to be selected.
    Candidate(Arc<Candidate>),
    /// The embedder has been loaded and used, or why it could not be.
    WarmedUp(Result<(), Arc<str>>),
}

/// A trace in the memory that was found. Serialised as `SimilarTrace` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Its id, if it has one.
    pub id: Option<Arc<str>>,
    /// The cosine similarity, in \[-1, 1\].
    pub similarity: f64,
    /// When it was added, as the time since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub added_at: Duration,
}

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

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1000.0)
}
