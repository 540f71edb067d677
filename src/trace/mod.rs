//! A reasoning trace as far as scoring needs it, valid by construction.
//!
//! A [`Trace`] can only come out of [`read`], which looks at a foreign value through [`View`] and
//! names the first field that does not fit. Whoever holds a `Trace` need not check it again.

mod json;
mod read;
mod view;

pub use read::{ReadError, read};
pub use view::{Type, View, quote, shorten};

use std::sync::Arc;

use crate::embedder::Text;

/// What an agent did in one step. An unknown type is kept by name: it counts as one more type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StepKind {
    Thought,
    ToolCall,
    Observation,
    ErrorRecovery,
    Other(Box<str>),
}

impl From<String> for StepKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "thought" => Self::Thought,
            "tool_call" => Self::ToolCall,
            "observation" => Self::Observation,
            "error_recovery" => Self::ErrorRecovery,
            _ => Self::Other(name.into_boxed_str()),
        }
    }
}

/// A tool that a step used. Tools without a name count as one and the same tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool {
    pub name: Option<Box<str>>,
}

/// One step of a trace. Its text has gone into that of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    pub tool: Option<Tool>,
}

/// The agent's own confidence in its result: finite, in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// `None` unless `value` is a finite number in \[0, 1\].
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The number, in \[0, 1\].
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A valid trace: what the four dimensions and the overrides are computed from.
#[derive(Debug)]
pub struct Trace {
    domain: Box<str>,
    success: bool,
    confidence: Confidence,
    steps: Vec<Step>,
    text: Text,
    id: Option<Arc<str>>,
}

impl Trace {
    /// `id`, by which the trace can be found again; `None` unless it is a string of at most 1,024 bytes.
    pub fn id(&self) -> Option<&Arc<str>> {
        self.id.as_ref()
    }

    /// `metadata.task_domain`, which selects the weights.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// `metadata.success`.
    pub fn success(&self) -> bool {
        self.success
    }

    /// `outcome.confidence`.
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// How many steps are of type `error_recovery`.
    pub fn error_recoveries(&self) -> usize {
        self.steps.iter().filter(|step| step.kind == StepKind::ErrorRecovery).count()
    }

    /// How many distinct tool names occur over the steps that have a tool.
    pub fn unique_tools(&self) -> usize {
        distinct(self.steps.iter().filter_map(|step| step.tool.as_ref()))
    }

    /// How many distinct step types occur.
    pub fn unique_types(&self) -> usize {
        distinct(self.steps.iter().map(|step| &step.kind))
    }

    /// As much of `objective + " " + contents.join(" ")` as counts.
    pub fn text(&self) -> &Text {
        &self.text
    }
}

fn distinct<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> usize {
    items.collect::<std::collections::HashSet<_>>().len()
}
