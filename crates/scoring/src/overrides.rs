//! Rules that correct the weighted sum, applied in order.

use serde::Serialize;

use crate::trace::Trace;

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
/// use knowledgepulse_scoring::overrides::Fired;
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
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}
