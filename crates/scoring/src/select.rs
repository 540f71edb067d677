//! The fewest traces that stand for all: facility location over their vectors, chosen greedily.
//!
//! The similarity of two traces is `s(i, j) = max(0, vᵢ · vⱼ)³`. A trace `i` is covered by
//! `cᵢ = max over the kept j of qⱼ s(i, j)`, where `qⱼ` is ½ for a trace that is known to have failed, and 1 for others
//! and for those that were kept before. The next trace is the one that adds most to `F = Σ nᵢ cᵢ`, the first of equals;
//! `nᵢ` is 1, or for a trace that was selected from a part before `Σ s(i, m)` over those that it stands for: what `j`
//! covers of these is about `s(i, j) s(i, m)`, as if they differed from `i` in other directions. `F` is monotone and
//! submodular, so the set reaches 1 − 1/e of the best of its size (Nemhauser, Wolsey, Fisher, 1978; for texts Lin and
//! Bilmes, 2011).
//!
//! What a trace adds never rises as the set grows. So what it added to a smaller set is a bound, and only the traces with
//! the greatest bounds are computed again (Minoux, Accelerated Greedy Algorithms, 1978): first a bound for the present
//! set, from the traces whose cover has changed, then, if it is still among the greatest, exactly. Of very many traces,
//! `F` is summed over a sample (Mirzasoleiman et al., Distributed Submodular Maximization, 2013).

mod selection;
mod sums;

use std::sync::Arc;

pub use selection::Selection;
use serde::Serialize;
use sums::{Row, cube, dot, row_of};

use crate::{
    cache::Nearest,
    embed::{Embedded, TextFacts},
    error::Result,
    id::Id,
    score::{Report, Times},
    trace::Trace,
};

/// Fails once the work is to end.
pub type Check<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// A trace that can be selected, or was kept before.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    trace: Trace,
    /// The vector; empty if there is none.
    row: Row,
    /// Why there is no vector.
    reason: Option<Arc<str>>,
    text: Option<TextFacts>,
    times: Times,
    /// The most similar trace of a memory whose traces were kept before.
    nearest: Option<Nearest>,
    group: Option<u32>,
    weight: f64,
    stands_for: u32,
    covers: f64,
}

impl Candidate {
    /// Returns a trace with its embedding, or the reason why there is none, and the most similar trace of a memory whose
    /// traces were kept before.
    pub fn new(trace: Trace, embedded: Result<Embedded>, nearest: Option<Nearest>) -> Self {
        let (row, reason, text, times) = match embedded {
            Err(reason) => (Row::default(), Some(reason.into()), None, Times::default()),
            Ok(Embedded { embedding, text, tokenize, infer, .. }) => {
                let total = tokenize.saturating_add(infer);
                let times = Times { total, tokenize, infer, ..Times::default() };
                (row_of(&embedding), None, Some(text), times)
            }
        };
        Self {
            trace,
            row,
            reason,
            text,
            times,
            nearest,
            group: None,
            weight: 1.0,
            stands_for: 1,
            covers: 1.0,
        }
    }

    /// Sets its group, whether it is known to have failed, how many it stands for already, itself included, and the sum of its
    /// similarities to them.
    pub fn with(self, group: Option<u32>, is_failed: bool, stands_for: u32, covers: f64) -> Self {
        Self { group, weight: if is_failed { 0.5 } else { 1.0 }, stands_for, covers, ..self }
    }

    /// Returns why there is no embedding.
    pub fn reason(&self) -> Option<&Arc<str>> {
        self.reason.as_ref()
    }

    /// Returns the bytes that it takes, without its texts.
    pub fn memory(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.row)
    }

    /// The cosine similarity, in \[-1, 1\]; 0 without a vector.
    fn similarity(&self, other: &Self) -> f64 {
        dot(&self.row, &other.row).clamp(-1.0, 1.0)
    }

    /// How much it covers another trace.
    fn covers(&self, other: &Self) -> f64 {
        cube(dot(&self.row, &other.row)) * self.weight
    }
}

/// When a selection ends; it also ends when no trace adds anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The most traces.
    pub count: usize,
    /// The wanted coverage.
    pub coverage: f64,
    /// The most traces of a group.
    pub per_group: usize,
}

/// A selected trace. Serialised as `SelectedTrace` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selected {
    /// Its index among the candidates.
    pub index: usize,
    /// Its id, if it has one.
    pub id: Option<Id>,
    /// `F` of the set up to it, divided by `F` of all candidates, in \[0, 1\].
    pub coverage: f64,
    /// How many the candidates that it covers best stand for: of those that cover as well, the first.
    pub stands_for: u64,
    /// The sum of its similarities to these.
    pub covers: f64,
    /// These without itself, the most similar first.
    pub members: Vec<Member>,
    /// The number of candidates that `F` is summed over.
    pub measured_over: usize,
    /// The report with the novelty against those kept before it.
    pub report: Report,
}

/// A candidate that a kept trace stands for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Member {
    /// Its index among the candidates.
    pub index: usize,
    /// The cosine similarity, in \[0, 1\].
    pub similarity: f64,
}

/// How far a selection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// `compare` or `choose`.
    pub stage: &'static str,
    /// The number of traces that were compared with all, or kept.
    pub done: usize,
    /// The number of traces to compare, or the most to keep.
    pub total: usize,
}
