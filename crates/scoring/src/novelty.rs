//! How far a trace is from those scored before it.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::cache::Nearest;

/// The novelty of a trace that cannot be compared with anything.
pub const NEUTRAL_NOVELTY: f64 = 0.5;

/// How the novelty of a trace was determined.
#[derive(Debug, Clone, PartialEq)]
pub enum Novelty {
    /// Compared with earlier traces, of which this is the nearest.
    Cache(Nearest),
    /// Nothing is cached: [`NEUTRAL_NOVELTY`].
    EmptyCache,
    /// The caller found this nearest trace, or none, which is [`NEUTRAL_NOVELTY`].
    Given(Option<Nearest>),
    /// Compared with the entries of a shared store.
    Store {
        /// The number of the trace in the store, or of the last entry if the trace was not added.
        seq: u64,
        /// The nearest trace; `None` in an empty store, which is [`NEUTRAL_NOVELTY`].
        nearest: Option<Nearest>,
    },
    /// The store could not be used, for this reason: [`NEUTRAL_NOVELTY`].
    NoStore(Arc<str>),
    /// There is no embedding, for this reason: [`NEUTRAL_NOVELTY`].
    NoEmbedder(Arc<str>),
    /// The call exceeded its budget: [`NEUTRAL_NOVELTY`].
    OverBudget,
}

impl Novelty {
    /// Returns `1 - max cosine(embedding, cached)`, clamped to \[0, 1\], or [`NEUTRAL_NOVELTY`].
    pub fn value(&self) -> f64 {
        self.nearest().map_or(NEUTRAL_NOVELTY, |nearest| (1.0 - nearest.similarity).clamp(0.0, 1.0))
    }

    /// Returns the name of the source, as in JSON: `cache`, `empty-cache`, `given`, `store`,
    /// `no-store`, `no-embedder` or `over-budget`.
    pub fn source(&self) -> &'static str {
        match self {
            Self::Cache(_) => "cache",
            Self::EmptyCache => "empty-cache",
            Self::Given(_) => "given",
            Self::Store { .. } => "store",
            Self::NoStore(_) => "no-store",
            Self::NoEmbedder(_) => "no-embedder",
            Self::OverBudget => "over-budget",
        }
    }

    /// Returns the most similar trace, if there is one.
    pub fn nearest(&self) -> Option<&Nearest> {
        match self {
            Self::Cache(nearest) => Some(nearest),
            Self::Given(nearest) | Self::Store { nearest, .. } => nearest.as_ref(),
            Self::EmptyCache | Self::NoStore(_) | Self::NoEmbedder(_) | Self::OverBudget => None,
        }
    }
}

impl Serialize for Novelty {
    /// All variants have the same fields, some `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (seq, reason) = match self {
            Self::Store { seq, .. } => (Some(*seq), None),
            Self::NoStore(reason) | Self::NoEmbedder(reason) => (None, Some(&**reason)),
            Self::Cache(_) | Self::EmptyCache | Self::Given(_) | Self::OverBudget => (None, None),
        };
        let nearest = self.nearest();
        let mut fields = serializer.serialize_struct("Novelty", 5)?;
        fields.serialize_field("source", self.source())?;
        fields.serialize_field("maxSimilarity", &nearest.map(|nearest| nearest.similarity))?;
        fields.serialize_field("nearest", &nearest.and_then(|nearest| nearest.id.as_deref()))?;
        fields.serialize_field("seq", &seq)?;
        fields.serialize_field("reason", &reason)?;
        fields.end()
    }
}
