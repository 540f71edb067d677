//! Rules that correct the weighted sum, applied in order.

use crate::trace::{StepKind, Trace};

/// One rule: when it applies to a trace, it gives a new score for the one before.
struct Rule {
    name: &'static str,
    applies: fn(&Trace) -> bool,
    correct: fn(f64) -> f64,
}

const RULES: [Rule; 3] = [
    Rule { name: "single-thought", applies: is_single_thought, correct: |_| 0.1 },
    Rule {
        name: "error-recovery",
        applies: |trace| trace.error_recoveries() > 2 && trace.success(),
        correct: |score| (score + 0.1).min(1.0),
    },
    Rule {
        name: "low-tool-diversity",
        applies: uses_one_tool,
        correct: |score| (score - 0.1).max(0.0),
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
        let after = (rule.correct)(score);
        fired.push(Override { name: rule.name, before: score, after });
        score = after;
    }
    (score, fired)
}

fn is_single_thought(trace: &Trace) -> bool {
    matches!(trace.steps(), [step] if step.kind == StepKind::Thought)
}

fn uses_one_tool(trace: &Trace) -> bool {
    trace.unique_tools() == 1
}
