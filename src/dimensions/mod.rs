//! The four dimensions of a trace, each a pure function into \[0, 1\].

mod complexity;
mod novelty;
mod outcome_confidence;
mod tool_diversity;

pub use complexity::complexity;
pub use novelty::{NEUTRAL_NOVELTY, Novelty, NoveltySource};
pub use outcome_confidence::outcome_confidence;
pub use tool_diversity::tool_diversity;

use crate::trace::Trace;

/// The four dimensions, each in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dimensions {
    pub complexity: f64,
    pub novelty: f64,
    pub tool_diversity: f64,
    pub outcome_confidence: f64,
}

impl Dimensions {
    /// Measures `trace`; novelty, which needs an embedding and a cache, comes from outside.
    pub fn of(trace: &Trace, novelty: &Novelty) -> Self {
        Self {
            complexity: complexity(trace),
            novelty: novelty.value(),
            tool_diversity: tool_diversity(trace),
            outcome_confidence: outcome_confidence(trace),
        }
    }
}
