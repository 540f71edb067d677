//! Rules that correct the weighted sum, applied in order.

use crate::trace::{StepKind, Trace};

/// One rule: when it applies to a trace, it gives a new score for the one before.
struct Rule {
    name: &'static str,
    applies: fn(&Trace) -> bool,
    correct: Correction,
}

enum Correction {
    /// The new score, whatever it was before.
    To(f64),
    By(fn(f64) -> f64),
}

impl Correction {
    fn of(&self, score: f64) -> f64 {
        match self {
            Self::To(score) => *score,
            Self::By(correct) => correct(score),
        }
    }
}

const RULES: [Rule; 3] = [
    Rule { name: "single-thought", applies: is_single_thought, correct: Correction::To(0.1) },
    Rule {
        name: "error-recovery",
        applies: |trace| trace.error_recoveries() > 2 && trace.success(),
        correct: Correction::By(|score| (score + 0.1).min(1.0)),
    },
    Rule {
        name: "low-tool-diversity",
        applies: uses_one_tool,
        correct: Correction::By(|score| (score - 0.1).max(0.0)),
    },
];

/// A rule that fired, with the score before and after it, both in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Override {
    pub name: &'static str,
    pub before: f64,
    pub after: f64,
}

/// Applies every rule in order: the final score, and the rules that fired.
pub fn apply(trace: &Trace, weighted: f64) -> (f64, Vec<Override>) {
    let mut score = weighted;
    let mut fired = Vec::new();
    for rule in RULES.iter().filter(|rule| (rule.applies)(trace)) {
        let after = rule.correct.of(score);
        fired.push(Override { name: rule.name, before: score, after });
        score = after;
    }
    (score, fired)
}

/// The final score, if a rule makes it the same whatever the weighted sum is.
pub fn fixed(trace: &Trace) -> Option<f64> {
    let fixes = |rule: &Rule| matches!(rule.correct, Correction::To(_)) && (rule.applies)(trace);
    RULES.iter().any(fixes).then(|| apply(trace, 0.0).0)
}

fn is_single_thought(trace: &Trace) -> bool {
    matches!(trace.steps(), [step] if step.kind == StepKind::Thought)
}

fn uses_one_tool(trace: &Trace) -> bool {
    trace.unique_tools() == 1
}
