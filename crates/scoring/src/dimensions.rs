//! The four dimensions of a trace, by the formulas of the KnowledgePulse protocol, computed in f64 in the order written.

use serde::{Deserialize, Serialize};

use crate::trace::{Steps, Trace};

/// The four dimensions, each in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dimensions {
    /// How varied and long the trace is:
    /// `min(1, uniqueTypes/4 * 0.5 + (errorRecoveries > 0 ? 0.3 : 0) + steps/20 * 0.2)`.
    pub complexity: f64,
    /// How far the trace is from earlier ones. See [`Novelty::value`](crate::novelty::Novelty::value).
    pub novelty: f64,
    /// Distinct tools relative to the number of steps: `min(1, uniqueTools / max(1, steps) * 3)`.
    pub tool_diversity: f64,
    /// How sure the agent is of its result: `confidence * (success ? 1 : 0.3)`.
    pub outcome_confidence: f64,
}

impl Dimensions {
    /// Measures `trace`. Novelty, which needs an embedding and a cache, comes from outside.
    pub fn of(trace: &Trace, novelty: f64) -> Self {
        let Steps { count, types, tools, recoveries, .. } = trace.steps();
        let (steps, types) = (count as f64, types as f64 / 4.0 * 0.5);
        let recovery = if recoveries > 0 { 0.3 } else { 0.0 };
        Self {
            complexity: (types + recovery + steps / 20.0 * 0.2).min(1.0),
            novelty,
            tool_diversity: (tools as f64 / steps.max(1.0) * 3.0).min(1.0),
            outcome_confidence: trace.confidence() * if trace.success() { 1.0 } else { 0.3 },
        }
    }
}
