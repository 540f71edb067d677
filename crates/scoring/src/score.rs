//! Dimensions, weights and overrides brought together.

use serde::Serialize;

use crate::{
    dimensions::Dimensions,
    novelty::Novelty,
    overrides::{self, Override},
    trace::Trace,
    weights::{Profile, Profiles},
};

/// A score, and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The score, in \[0, 1\].
    #[serde(rename = "score")]
    pub value: f64,
    /// The dimensions that it is the weighted sum of.
    pub dimensions: Dimensions,
    /// The weights, and the domain that they belong to.
    #[serde(flatten)]
    pub profile: Profile,
    /// The rules that fired, in order.
    pub overrides: Vec<Override>,
    /// What the novelty rests on.
    pub novelty: Novelty,
}

impl Score {
    /// Scores `trace`, whose novelty is known, by the profile of its domain.
    pub fn of(trace: &Trace, novelty: Novelty, profiles: &Profiles) -> Self {
        let dimensions = Dimensions::of(trace, &novelty);
        let profile = profiles.for_domain(trace.domain());
        // The weights sum to 1 only up to rounding.
        let weighted = profile.weights.apply(&dimensions).clamp(0.0, 1.0);
        let (value, overrides) = overrides::apply(trace, weighted);
        Self { value, dimensions, profile, overrides, novelty }
    }
}
