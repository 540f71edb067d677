//! Dimensions, weights and overrides brought together.

use crate::{
    dimensions::{Dimensions, Novelty},
    overrides::{self, Override},
    trace::Trace,
    weights::{Profile, Profiles},
};

/// The score of a trace with the whole account of how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The score, in \[0, 1\].
    pub value: f64,
    pub dimensions: Dimensions,
    pub profile: Profile,
    pub novelty: Novelty,
    /// The rules that fired, in order.
    pub overrides: Vec<Override>,
}

impl Score {
    /// Scores `trace`, whose novelty is known, by the profile of its domain.
    pub fn of(trace: &Trace, novelty: Novelty, profiles: &Profiles) -> Self {
        let dimensions = Dimensions::of(trace, &novelty);
        let profile = profiles.for_domain(trace.domain());
        // The weights sum to 1 only up to rounding.
        let weighted = profile.weights.apply(&dimensions).clamp(0.0, 1.0);
        let (value, overrides) = overrides::apply(trace, weighted);
        Self { value, dimensions, profile, novelty, overrides }
    }

    /// The value that [`Score::of`] gives whatever the novelty is, if there is one.
    pub fn without_novelty(trace: &Trace) -> Option<f64> {
        overrides::fixed(trace)
    }
}
