//! The parts of a reasoning trace that scoring needs.
//!
//! A [`Trace`] is valid by construction: it need not be checked again. Readers of traces, from JavaScript or from JSON,
//! check each field and call [`Trace::new`]. The text of a trace is not part of it.

use crate::id::Id;

/// The maximum length of a string in an error message, in characters.
const SHOWN: usize = 40;

/// Formats a string for an error message: quoted, cut after 40 characters.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The steps of a trace, as far as its score depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steps {
    /// The number of steps.
    pub count: usize,
    /// The number of distinct types. One that the protocol does not know counts as a further type.
    pub types: usize,
    /// The number of distinct names of tools. All tools without a name count as one.
    pub tools: usize,
    /// The number of steps of type `error_recovery`.
    pub recoveries: usize,
    /// Whether there is only one step, of type `thought`.
    pub is_thought: bool,
}

impl Steps {
    /// Counts steps: the type of each, and the name of its tool, `Some(None)` if that has none.
    pub fn of<'a>(steps: impl IntoIterator<Item = (&'a str, Option<Option<&'a str>>)>) -> Self {
        let (types, tools): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        Self {
            count: types.len(),
            recoveries: types.iter().filter(|kind| **kind == "error_recovery").count(),
            is_thought: types == ["thought"],
            types: distinct(types),
            tools: distinct(tools.into_iter().flatten().collect()),
        }
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
    steps: Steps,
    id: Option<Id>,
}

impl Trace {
    /// Returns a trace. An `id` that is too long for [`Id`] is ignored.
    pub fn new(
        domain: Box<str>,
        success: bool,
        confidence: Confidence,
        steps: Steps,
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

    /// Returns the steps.
    pub fn steps(&self) -> Steps {
        self.steps
    }
}

fn distinct<T: Ord>(mut items: Vec<T>) -> usize {
    // Most traces have a few steps, for which sorting is faster than hashing.
    items.sort_unstable();
    items.dedup();
    items.len()
}
