//! The parts of a reasoning trace that scoring needs.
//!
//! A [`Trace`] is valid by construction: it need not be checked again. Readers of traces, from JavaScript or from JSON,
//! check each field and call [`Trace::new`]. The text of a trace is not part of it.

use std::borrow::Cow;

use crate::id::Id;

/// The types of steps that the protocol knows.
pub const KINDS: [&str; 4] = ["thought", "tool_call", "observation", "error_recovery"];

/// The maximum length of a string in an error message, in characters.
const SHOWN: usize = 40;

/// Formats a string for an error message: quoted, cut after 40 characters.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// One step of a trace, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// `type`. One that the protocol does not know counts as a further type.
    pub kind: Cow<'static, str>,
    /// The name of the `tool`, if there is one. All tools without a name count as one.
    pub tool: Option<Option<Box<str>>>,
}

impl Step {
    /// Returns a step. A type that the protocol knows takes no memory.
    pub fn new(kind: &str, tool: Option<Option<Box<str>>>) -> Self {
        let known = KINDS.iter().find(|known| **known == kind);
        Self { kind: known.map_or_else(|| kind.to_owned().into(), |known| (*known).into()), tool }
    }
}

/// A number in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// Returns `None` for a number that is not in \[0, 1\].
    ///
    /// ```
    /// use knowledgepulse_scoring::trace::Confidence;
    ///
    /// assert!(Confidence::new(0.9).is_some());
    /// assert!(Confidence::new(f64::NAN).is_none());
    /// ```
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=1.0).contains(&number).then_some(Self(number))
    }
}

/// A valid trace: what the four dimensions and the overrides are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    domain: Box<str>,
    success: bool,
    confidence: Confidence,
    steps: Vec<Step>,
    id: Option<Id>,
}

impl Trace {
    /// Returns a trace. An `id` that is too long for [`Id`] is ignored.
    pub fn new(
        domain: Box<str>,
        success: bool,
        confidence: Confidence,
        steps: Vec<Step>,
        id: Option<String>,
    ) -> Self {
        Self { domain, success, confidence, steps, id: id.and_then(Id::new) }
    }

    /// Returns `id`, by which the trace can be found again.
    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// Returns `metadata.task_domain`, which selects the weights.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns `metadata.success`.
    pub fn success(&self) -> bool {
        self.success
    }

    /// Returns `outcome.confidence`, in \[0, 1\].
    pub fn confidence(&self) -> f64 {
        self.confidence.0
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the number of steps of type `error_recovery`.
    pub fn error_recoveries(&self) -> usize {
        self.steps.iter().filter(|step| &*step.kind == "error_recovery").count()
    }

    /// Returns the number of distinct tool names in steps with a tool.
    pub fn unique_tools(&self) -> usize {
        distinct(self.steps.iter().filter_map(|step| step.tool.as_ref()))
    }

    /// Returns the number of distinct step types.
    pub fn unique_types(&self) -> usize {
        distinct(self.steps.iter().map(|step| &step.kind))
    }
}

fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> usize {
    // Most traces have a few steps, for which sorting is faster than hashing.
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items.dedup();
    items.len()
}
