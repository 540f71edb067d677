//! What a scorer shares with its calls: options, statistics, and what becomes of a call; and native memory that a garbage
//! collector has to be told of.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use knowledgepulse_workers::available_cores;
use serde::Serialize;

use crate::{
    cache::{CacheOptions, Nearest, VectorCache},
    error::Result,
    id::Id,
    score::{Novelty, Report, milliseconds},
    select::Candidate,
    sync::{Mutex, lock},
    weights::Profiles,
};

/// The options of a scorer.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    /// The weights by domain. Default: those of the KnowledgePulse protocol.
    pub profiles: Profiles,
    /// The bounds of the memory, at least 1.
    pub cache: CacheOptions,
    /// The maximum number of texts embedded at once, at least 1. Default: one for each core.
    pub concurrency: usize,
    /// Where the bytes of the memory count. Default: one of its own.
    pub ledger: Ledger,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        let (profiles, cache, ledger) = Default::default();
        Self { profiles, cache, concurrency: available_cores(), ledger }
    }
}

/// The state that a scorer shares with its calls.
pub struct Common {
    pub options: ScorerOptions,
    statistics: Mutex<Statistics>,
    /// Set before the lists of calls are emptied for the last time. Whoever adds a call must hold the lock of the
    /// list and check this first.
    closed: AtomicBool,
}

impl Common {
    pub fn new(options: ScorerOptions) -> Arc<Self> {
        Arc::new(Self { options, statistics: Mutex::default(), closed: AtomicBool::default() })
    }

    pub fn count<R>(&self, count: impl FnOnce(&mut Statistics) -> R) -> R {
        count(&mut lock(&self.statistics))
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

/// The number of latencies that are kept, those of the latest calls.
const KEPT: usize = 1024;

/// Counts of calls, and the latencies of the latest ones.
#[derive(Debug, Default, Clone)]
pub struct Statistics {
    /// Calls accepted, without warm-ups that have succeeded.
    pub accepted: u64,
    /// Calls answered with a result.
    pub answered: u64,
    /// Calls that were rejected after they had been accepted.
    pub failed: u64,
    /// Calls that were aborted.
    pub aborted: u64,
    /// Scores returned without an embedding because the budget was exceeded.
    pub over_budget: u64,
    latencies: VecDeque<Duration>,
}

impl Statistics {
    /// Counts the answer to a call.
    pub(super) fn count(&mut self, answer: &Result<Outcome>, latency: Duration) {
        match answer {
            // It answers nothing that was asked.
            Ok(Outcome::WarmedUp(_)) => self.accepted -= 1,
            Ok(outcome) => {
                if let Outcome::Scored(report) = outcome
                    && report.score.novelty == Novelty::OverBudget
                {
                    self.over_budget += 1;
                }
                self.answered_after(latency);
            }
            Err(error) if error.code() == "ABORTED" => self.aborted += 1,
            Err(_) => self.failed += 1,
        }
    }

    /// Counts a call that was answered after `latency`.
    pub fn answered_after(&mut self, latency: Duration) {
        self.answered += 1;
        if self.latencies.len() == KEPT {
            self.latencies.pop_front();
        }
        self.latencies.push_back(latency);
    }

    /// Returns the number of calls without an answer.
    pub fn pending(&self) -> u64 {
        self.accepted.saturating_sub(self.answered + self.failed + self.aborted)
    }

    /// Returns a percentile of the last 1,024 latencies; `None` before the first. `share` is in \[0, 1\].
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let mut sorted: Vec<_> = self.latencies.iter().copied().collect();
        sorted.sort_unstable();
        // Nearest-rank method: 0.99 of 100 values is the 99th.
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The trace has this score.
    Scored(Box<Report>),
    /// The trace is in the memory.
    Remembered,
    /// This many traces were removed from the memory.
    Removed(usize),
    /// The most similar traces in the memory, the most similar first, the oldest first among equals.
    Found(Vec<Found>),
    /// The embedding of the text.
    Embedded(Box<[f32]>),
    /// The trace with its embedding, to be selected.
    Candidate(Box<Candidate>),
    /// The embedder has been loaded and used, or why it could not be.
    WarmedUp(Result<(), Arc<str>>),
}

/// A trace in the memory that was found. Serialised as `SimilarTrace` in JavaScript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Its id, and its similarity.
    #[serde(flatten)]
    pub nearest: Nearest,
    /// When it was added, as the time since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub added_at: Duration,
}

/// A change of the memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add a vector.
    Add {
        /// The id of its trace.
        id: Option<Id>,
        /// The vector; `None` if the call is of this scorer, or a later [`Change::Forget`] has erased it.
        vector: Option<Box<[f32]>>,
    },
    /// Remove the vectors with this id. `None` for an id that no vector has, because it is too long.
    Forget(Option<Id>),
    /// Remove all vectors.
    Clear,
}

impl Change {
    /// Makes the change in a cache; without a vector of its own, it adds this one. Returns how many vectors it removed,
    /// if it removes.
    pub(crate) fn apply(
        self,
        cache: &mut VectorCache,
        vector: &[f32],
        now: Duration,
    ) -> Result<Option<usize>> {
        Ok(match self {
            Self::Add { id, vector: own } => {
                cache.add(own.as_deref().unwrap_or(vector), id, now)?;
                None
            }
            Self::Forget(id) => Some(id.map_or(0, |id| cache.remove(&id, now))),
            Self::Clear => {
                let removed = cache.len(now);
                cache.clear();
                Some(removed)
            }
        })
    }
}

/// The bytes that all owners of an environment hold.
pub type Ledger = Arc<AtomicI64>;

/// The bytes that one owner holds, on any thread: 0 at first, and once it is dropped.
#[derive(Debug, Default)]
pub struct Held {
    ledger: Ledger,
    bytes: i64,
}

impl Held {
    /// Returns an owner of 0 bytes.
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), bytes: 0 }
    }

    /// Changes the number of bytes.
    pub fn set(&mut self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.ledger.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// Adds to the number of bytes.
    pub fn add(&mut self, bytes: usize) {
        self.set(bytes.saturating_add(self.bytes as usize));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_of_the_nearest_rank() {
        let mut statistics = Statistics::default();
        assert_eq!(statistics.percentile(0.5), None);
        for ms in (1..=100).rev() {
            statistics.answered_after(Duration::from_millis(ms));
        }
        for (share, expected) in [(0.0, 1), (0.01, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)]
        {
            let found = statistics.percentile(share);
            assert_eq!(found, Some(Duration::from_millis(expected)), "{share}");
        }
    }

    #[test]
    fn percentile_counts_only_the_latest_calls() {
        let mut statistics = Statistics::default();
        for ms in 0..5000 {
            statistics.answered_after(Duration::from_millis(ms));
        }
        assert_eq!(statistics.answered, 5000);
        assert_eq!(statistics.percentile(0.0), Some(Duration::from_millis(5000 - KEPT as u64)));
    }
}
