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
    Rule {
        name: "single-thought",
        applies: |trace| matches!(trace.steps(), [step] if &*step.kind == "thought"),
        correct: |_| 0.1,
    },
    Rule {
        name: "error-recovery",
        applies: |trace| trace.error_recoveries() > 2 && trace.success(),
        correct: |score| (score + 0.1).min(1.0),
    },
    Rule {
        name: "low-tool-diversity",
        applies: |trace| trace.unique_tools() == 1,
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

/// Applies every rule in order. Returns the final score, and the rules that fired.
pub fn apply(trace: &Trace, weighted: f64) -> (f64, Vec<Override>) {
    let mut score = weighted;
    let mut fired = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.applies)(trace)) {
        let after = (rule.correct)(score);
        fired.push(Override { name: rule.name, before: score, after });
        score = after;
    }
    (score, fired)
}
