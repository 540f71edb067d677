//! A set of traces, chosen by the score that each adds to the set.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use knowledgepulse_workers::CancelToken;
use serde::Serialize;

use crate::{
    cache::{Nearest, dot_of, normalize_into, row_length},
    embed::{Embedded, TextFacts},
    error::{Error, Result},
    id::Id,
    novelty::Novelty,
    score::{Score, Scored},
    scorer::{Report, Times},
    trace::Trace,
    weights::Profiles,
};

/// A trace that can be selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    trace: Trace,
    /// The vector as a row of a cache, or why there is none.
    row: Result<Vec<f32>, Arc<str>>,
    text: Option<TextFacts>,
    times: Times,
}

impl Candidate {
    /// Returns a trace with its embedding, or the reason why there is none.
    pub fn new(trace: Trace, embedded: Result<Embedded, Arc<str>>) -> Self {
        let (mut text, mut times) = (None, Times::default());
        let row = embedded.map(|Embedded { embedding, text: facts, tokenize, infer, .. }| {
            text = Some(facts);
            times = Times { total: tokenize.saturating_add(infer), tokenize, infer, ..times };
            let mut row = vec![0.0; row_length(embedding.len())];
            normalize_into(&mut row, &embedding);
            row
        });
        Self { trace, row, text, times }
    }

    /// Returns why there is no embedding.
    pub fn reason(&self) -> Option<&Arc<str>> {
        self.row.as_ref().err()
    }
}

/// A selected trace. Serialised as `SelectedTrace` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selected {
    /// Its index among the candidates.
    pub index: usize,
    /// Its id, if it has one.
    pub id: Option<Id>,
    /// The report at its place in the set.
    pub report: Report,
}

/// A candidate, compared with the first traces of the set.
struct Compared<'a> {
    candidate: &'a Candidate,
    scored: Scored,
    /// The number of these traces.
    count: usize,
    /// The greatest similarity to one of them, and its index among the candidates; the first of equals.
    nearest: Option<(f32, usize)>,
}

impl<'a> Compared<'a> {
    fn of(candidate: &'a Candidate, profiles: &Profiles) -> Self {
        let scored = Scored::of(&candidate.trace, profiles);
        Self { candidate, scored, count: 0, nearest: None }
    }

    /// Compares with the rest of the set. Returns whether there is any.
    fn compare(&mut self, set: &[(usize, &[f32])]) -> bool {
        let Ok(row) = &self.candidate.row else { return false };
        let rest = &set[self.count..];
        self.count = set.len();
        for (index, other) in rest {
            let similarity = dot_of(row, other);
            if self.nearest.is_none_or(|(greatest, _)| similarity > greatest) {
                self.nearest = Some((similarity, *index));
            }
        }
        !rest.is_empty()
    }

    fn novelty(&self, candidates: &[Arc<Candidate>]) -> Novelty {
        let nearest = |(similarity, index): (f32, usize)| {
            let id = candidates[index].trace.id().map(|id| Arc::from(&**id));
            Novelty::Cache(Nearest { similarity: similarity.into(), id })
        };
        match self.candidate.reason() {
            Some(reason) => Novelty::NoEmbedder(reason.clone()),
            None => self.nearest.map_or(Novelty::EmptyCache, nearest),
        }
    }
}

/// Selects up to `count` candidates one after another, until the next score is below the threshold: always the one with
/// the greatest score if its novelty is measured against those selected before, the first of equals. All vectors must be
/// of one model.
///
/// # Why few scores are computed again
///
/// A greater set only lowers novelty, which is a minimum over the set, and with it the score (see [`Score::bounds`]). So a
/// score that was computed for a smaller set is an upper bound, and the greatest of these is selected if it is up to date
/// (Minoux, Accelerated Greedy Algorithms, 1978). Only the first vector of the set can raise the neutral novelty.
///
/// # Errors
///
/// `ABORTED` once `cancel` is cancelled.
pub fn select(
    candidates: &[Arc<Candidate>],
    profiles: &Profiles,
    (count, threshold): (usize, f64),
    cancel: &CancelToken,
) -> Result<Vec<Selected>> {
    let mut all: Vec<_> = candidates.iter().map(|it| Compared::of(it, profiles)).collect();
    // The bits of numbers of 0 or more have their order.
    let entry = |all: &[Compared], index: usize| {
        let score = all[index].scored.value(all[index].novelty(candidates).value());
        (score.to_bits(), Reverse(index))
    };
    let mut queue: BinaryHeap<_> = (0..all.len()).map(|index| entry(&all, index)).collect();
    let (mut set, mut selected) = (Vec::new(), Vec::new());
    while selected.len() < count
        && let Some((bits, Reverse(index))) = queue.pop()
    {
        if cancel.is_cancelled() {
            return Err(Error::aborted());
        }
        if all[index].compare(&set) {
            queue.push(entry(&all, index));
            continue;
        }
        if f64::from_bits(bits) < threshold {
            break;
        }
        let Candidate { trace, row, text, times } = &*candidates[index];
        let score = Score::of(trace, all[index].novelty(candidates), profiles);
        let report = Report { score, text: text.clone(), times: *times };
        selected.push(Selected { index, id: trace.id().cloned(), report });
        if let Ok(row) = row {
            set.push((index, &row[..]));
            if set.len() == 1 {
                let rest: Vec<_> = queue.into_iter().map(|(_, Reverse(index))| index).collect();
                for &index in &rest {
                    all[index].compare(&set);
                }
                queue = rest.into_iter().map(|index| entry(&all, index)).collect();
            }
        }
    }
    Ok(selected)
}
