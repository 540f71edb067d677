//! The four dimensions of a trace, each a pure function into \[0, 1\].
//!
//! The formulas are those of the KnowledgePulse protocol, computed in f64 in the order written.

use serde::{Deserialize, Serialize};

use crate::trace::Trace;

/// The four dimensions, each in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dimensions {
    /// How varied and long the trace is. See [`complexity`].
    pub complexity: f64,
    /// How far the trace is from earlier ones. See [`Novelty::value`](crate::Novelty::value).
    pub novelty: f64,
    /// Distinct tools relative to the number of steps. See [`tool_diversity`].
    pub tool_diversity: f64,
    /// How sure the agent is of its result. See [`outcome_confidence`].
    pub outcome_confidence: f64,
}

impl Dimensions {
    /// Measures `trace`. Novelty, which needs an embedding and a cache, comes from outside.
    pub fn of(trace: &Trace, novelty: f64) -> Self {
        Self {
            complexity: complexity(trace),
            novelty,
            tool_diversity: tool_diversity(trace),
            outcome_confidence: outcome_confidence(trace),
        }
    }
}

/// Returns `min(1, uniqueTypes/4 * 0.5 + (errorRecoveries > 0 ? 0.3 : 0) + steps/20 * 0.2)`.
pub fn complexity(trace: &Trace) -> f64 {
    let types = trace.unique_types() as f64 / 4.0 * 0.5;
    let recovery = if trace.error_recoveries() > 0 { 0.3 } else { 0.0 };
    let length = trace.steps().len() as f64 / 20.0 * 0.2;
    (types + recovery + length).min(1.0)
}

/// Returns `min(1, uniqueTools / max(1, steps) * 3)`.
pub fn tool_diversity(trace: &Trace) -> f64 {
    let steps = trace.steps().len().max(1) as f64;
    (trace.unique_tools() as f64 / steps * 3.0).min(1.0)
}

/// Returns `confidence * (success ? 1 : 0.3)`.
pub fn outcome_confidence(trace: &Trace) -> f64 {
    trace.confidence() * if trace.success() { 1.0 } else { 0.3 }
}
