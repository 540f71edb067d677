//! Counts and latencies of the calls of a scorer.

use std::{collections::VecDeque, time::Duration};

use crate::{error::Result, novelty::Novelty, scorer::outcome::Outcome};

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
