//! The score: dimensions, weights and overrides combined.

use serde::Serialize;

use crate::{
    dimensions::Dimensions,
    novelty::Novelty,
    overrides::{Fired, Override},
    trace::Trace,
    weights::{Profile, Profiles},
};

/// A score with its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The score, in \[0, 1\].
    #[serde(rename = "score")]
    pub value: f64,
    /// The dimensions.
    pub dimensions: Dimensions,
    /// The weights, and their domain.
    #[serde(flatten)]
    pub profile: Profile,
    /// A note for people if the domain resembles one with other weights, or the nearest trace has the same id.
    pub hint: Option<String>,
    /// The rules that fired, in order.
    pub overrides: Vec<Override>,
    /// How novelty was determined.
    pub novelty: Novelty,
}

/// Where the nearest trace has the id of the scored one.
const AGAIN: &str =
    "the nearest is this trace itself, scored before: known: \"again\" leaves it out";

impl Score {
    /// Scores `trace`, whose novelty is known, by the profile of its domain.
    pub fn of(trace: &Trace, novelty: Novelty, profiles: &Profiles) -> Self {
        let own = novelty.nearest().and_then(|nearest| nearest.id.as_deref());
        let is_own = own.is_some() && own == trace.id().map(|id| &**id);
        let mut score = Scored::of(trace, profiles).score(novelty);
        if is_own {
            score.hint = Some(score.hint.map_or(AGAIN.into(), |hint| format!("{hint}; {AGAIN}")));
        }
        score
    }

    /// Returns the lowest and the highest score that `trace` can have for any novelty: those at 0 and 1.
    ///
    /// # Why none lies outside
    ///
    /// With everything else fixed, the score never falls as novelty rises, rounding included. Its weight is not
    /// negative, and in floating point a product with such a number, a sum and a minimum or maximum with a constant
    /// never fall as one operand rises. That also holds for every rule of [`overrides`](crate::overrides), and which of them fire does
    /// not depend on novelty. So scores lie between those for 0 and 1, which are computed in the same order.
    ///
    /// ```
    /// use knowledgepulse_scoring::{Profiles, Score, Trace, trace::{Confidence, Steps}};
    ///
    /// let confidence = Confidence::new(0.5).expect("a number in [0, 1]");
    /// let steps = Steps::of([("thought", None)]);
    /// let trace = Trace::new("code".into(), true, confidence, steps, None);
    /// assert_eq!(Score::bounds(&trace, &Profiles::default()), [0.1, 0.1]);
    /// ```
    pub fn bounds(trace: &Trace, profiles: &Profiles) -> [f64; 2] {
        let scored = Scored::of(trace, profiles);
        [scored.value(0.0), scored.value(1.0)]
    }
}

/// The score of a trace as a function of its novelty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    profile: Profile,
    hint: Option<String>,
    fired: Fired,
    dimensions: Dimensions,
}

impl Scored {
    pub fn of(trace: &Trace, profiles: &Profiles) -> Self {
        let (profile, hint) = (profiles.for_domain(trace.domain()), profiles.hint(trace.domain()));
        Self { profile, hint, fired: Fired::of(trace), dimensions: Dimensions::of(trace, 0.0) }
    }

    /// Returns the value of [`Score::of`] for this novelty.
    pub fn value(&self, novelty: f64) -> f64 {
        self.fired.correct(self.weighted(novelty).1)
    }

    fn weighted(&self, novelty: f64) -> (Dimensions, f64) {
        let dimensions = Dimensions { novelty, ..self.dimensions };
        (dimensions, self.profile.weights.apply(&dimensions))
    }

    /// Returns the value of [`Score::of`].
    pub fn score(self, novelty: Novelty) -> Score {
        let (dimensions, weighted) = self.weighted(novelty.value());
        let (value, overrides) = self.fired.apply(weighted);
        let Self { profile, hint, .. } = self;
        Score { value, dimensions, profile, hint, overrides, novelty }
    }
}
