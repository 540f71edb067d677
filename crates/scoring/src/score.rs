//! The score of a trace: its dimensions weighted, then corrected by rules; and the report on it.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{
    cache::Nearest,
    embed::TextFacts,
    trace::Trace,
    weights::{Dimensions, Profile, Profiles},
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
        let (profile, mut hint) =
            (profiles.for_domain(trace.domain()), profiles.hint(trace.domain()));
        let own = novelty.nearest().and_then(|nearest| nearest.id.as_deref());
        if own.is_some() && own == trace.id().map(|id| &**id) {
            hint = Some(hint.map_or(AGAIN.into(), |hint| format!("{hint}; {AGAIN}")));
        }
        let dimensions = Dimensions::of(trace, novelty.value());
        let (value, overrides) = Fired::of(trace).apply(profile.weights.apply(&dimensions));
        Self { value, dimensions, profile, hint, overrides, novelty }
    }

    /// Returns the lowest and the highest score that `trace` can have for any novelty: those at 0 and 1.
    ///
    /// # Why none lies outside
    ///
    /// With everything else fixed, the score never falls as novelty rises, rounding included. Its weight is not
    /// negative, and in floating point a product with such a number, a sum and a minimum or maximum with a constant
    /// never fall as one operand rises. That also holds for every rule, and which of them fire does
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
        let (weights, fired) = (profiles.for_domain(trace.domain()).weights, Fired::of(trace));
        [0.0, 1.0].map(|novelty| fired.correct(weights.apply(&Dimensions::of(trace, novelty))))
    }
}

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

/// One rule: when it applies to a trace, it replaces the score.
struct Rule {
    name: &'static str,
    applies: fn(&Trace) -> bool,
    correct: fn(f64) -> f64,
}

const RULES: [Rule; 3] = [
    Rule { name: "single-thought", applies: |trace| trace.steps().is_thought, correct: |_| 0.1 },
    Rule {
        name: "error-recovery",
        applies: |trace| trace.steps().recoveries > 2 && trace.success(),
        correct: |score| (score + 0.1).min(1.0),
    },
    Rule {
        name: "low-tool-diversity",
        applies: |trace| trace.steps().tools == 1,
        correct: |score| (score - 0.1).max(0.0),
    },
];

/// A rule that fired.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Override {
    /// `single-thought`, `error-recovery` or `low-tool-diversity`.
    pub name: &'static str,
    /// The score before the rule, in \[0, 1\].
    pub before: f64,
    /// The score after the rule, in \[0, 1\].
    pub after: f64,
}

/// The rules that fire for a trace. They do not depend on weights, so they can correct a weighted sum with any weights.
///
/// ```
/// use knowledgepulse_scoring::score::Fired;
///
/// let fired = Fired::named(["low-tool-diversity"])?;
/// assert_eq!(fired.correct(0.75), 0.65);
/// assert_eq!(fired.correct(0.05), 0.0);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fired([bool; RULES.len()]);

impl Fired {
    /// Returns the rules that fire for `trace`.
    pub fn of(trace: &Trace) -> Self {
        Self(RULES.each_ref().map(|rule| (rule.applies)(trace)))
    }

    /// Returns the rules with these names, given in any order.
    ///
    /// # Errors
    ///
    /// The first unknown name.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut fired = Self::default();
        for name in names {
            let rule = RULES.iter().position(|rule| rule.name == name).ok_or(name)?;
            fired.0[rule] = true;
        }
        Ok(fired)
    }

    /// Corrects a weighted sum in \[0, 1\] by the rules in order. Returns the score.
    pub fn correct(self, weighted: f64) -> f64 {
        self.rules().fold(weighted, |score, rule| (rule.correct)(score))
    }

    /// Corrects a weighted sum in \[0, 1\] by the rules in order. Returns the score, and what they changed.
    pub fn apply(self, weighted: f64) -> (f64, Vec<Override>) {
        let mut score = weighted;
        let mut overrides = Vec::new();
        for rule in self.rules() {
            let after = (rule.correct)(score);
            overrides.push(Override { name: rule.name, before: score, after });
            score = after;
        }
        (score, overrides)
    }

    fn rules(self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().zip(self.0).filter_map(|(rule, fired)| fired.then_some(rule))
    }
}

/// Returns the names of all rules, in order.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
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
