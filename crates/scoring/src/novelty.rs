//! How far a trace is from those scored before it.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::cache::Nearest;

/// The novelty of a trace that cannot be compared with anything.
pub const NEUTRAL_NOVELTY: f64 = 0.5;

/// What the novelty of a trace rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Novelty {
    /// Compared with earlier traces, of which this is the nearest.
    Cache(Nearest),
    /// Nothing is cached: [`NEUTRAL_NOVELTY`].
    EmptyCache,
    /// There is no embedding: [`NEUTRAL_NOVELTY`].
    NoEmbedder {
        /// Why there is none.
        reason: Arc<str>,
    },
    /// The call ran out of its budget: [`NEUTRAL_NOVELTY`].
    OverBudget,
}

impl Novelty {
    /// Returns `1 - max cosine(embedding, cached)`, clamped to \[0, 1\], or [`NEUTRAL_NOVELTY`].
    pub fn value(&self) -> f64 {
        match self {
            Self::Cache(nearest) => (1.0 - nearest.similarity).clamp(0.0, 1.0),
            Self::EmptyCache | Self::NoEmbedder { .. } | Self::OverBudget => NEUTRAL_NOVELTY,
        }
    }
}

impl Serialize for Novelty {
    /// One shape for all variants: what a variant does not have is `null`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (source, nearest, reason) = match self {
            Self::Cache(nearest) => ("cache", Some(nearest), None),
            Self::EmptyCache => ("empty-cache", None, None),
            Self::NoEmbedder { reason } => ("no-embedder", None, Some(&**reason)),
            Self::OverBudget => ("over-budget", None, None),
        };
        let mut fields = serializer.serialize_struct("Novelty", 4)?;
        fields.serialize_field("source", source)?;
        fields.serialize_field("maxSimilarity", &nearest.map(|nearest| nearest.similarity))?;
        fields.serialize_field("nearest", &nearest.and_then(|nearest| nearest.id.as_deref()))?;
        fields.serialize_field("reason", &reason)?;
        fields.end()
    }
}
