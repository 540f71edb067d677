//! The outcome of a call.

use std::{sync::Arc, time::Duration};

use serde::Serialize;

use crate::{
    report::{Report, milliseconds},
    select::Candidate,
};

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
    Candidate(Box<Candidate>),
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
