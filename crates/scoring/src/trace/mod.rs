//! A reasoning trace as far as scoring needs it, valid by construction.
//!
//! A [`Trace`] comes out of [`read`], which looks at a foreign value through [`View`] and names the first
//! field that does not fit, or of [`Trace::new`], which takes what has its types already. Whoever holds a
//! `Trace` need not check it again. Its text goes to a [`std::fmt::Write`] of the caller's, so nothing here
//! knows what embeds it.

mod read;
mod view;

pub use read::read;
pub use view::{TextWriter, Type, View, quote};

use std::{borrow::Cow, sync::Arc};

/// The types of steps that the protocol knows.
pub const KINDS: [&str; 4] = ["thought", "tool_call", "observation", "error_recovery"];

/// A longer id is ignored.
const MAX_ID_BYTES: usize = 1024;

/// One step of a trace, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// `type`; an unknown one counts as one more.
    pub kind: Cow<'static, str>,
    /// The name of the `tool`, if there is one. Those without a name count as one and the same.
    pub tool: Option<Option<Box<str>>>,
}

/// A valid trace: what the four dimensions and the overrides are computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    domain: Box<str>,
    success: bool,
    confidence: f64,
    steps: Vec<Step>,
    id: Option<Arc<str>>,
}

impl Trace {
    /// Returns a trace of these parts, which are those of the same names; `None` unless `confidence` is in
    /// \[0, 1\]. An `id` of more than 1,024 bytes is ignored.
    ///
    /// ```
    /// use knowledgepulse_scoring::Trace;
    ///
    /// assert!(Trace::new("code".into(), true, 0.9, Vec::new(), None).is_some());
    /// assert!(Trace::new("code".into(), true, f64::NAN, Vec::new(), None).is_none());
    /// ```
    pub fn new(
        domain: Box<str>,
        success: bool,
        confidence: f64,
        steps: Vec<Step>,
        id: Option<String>,
    ) -> Option<Self> {
        let id = id.filter(|id| id.len() <= MAX_ID_BYTES).map(Into::into);
        (0.0..=1.0).contains(&confidence).then_some(Self { domain, success, confidence, steps, id })
    }

    /// Returns `id`, by which the trace can be found again; `None` unless it is a string of at most 1,024
    /// bytes.
    pub fn id(&self) -> Option<&Arc<str>> {
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
        self.confidence
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns how many steps are of type `error_recovery`.
    pub fn error_recoveries(&self) -> usize {
        self.steps.iter().filter(|step| &*step.kind == "error_recovery").count()
    }

    /// Returns how many distinct tool names occur over the steps that have a tool.
    pub fn unique_tools(&self) -> usize {
        distinct(self.steps.iter().filter_map(|step| step.tool.as_ref()))
    }

    /// Returns how many distinct step types occur.
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
