//! Labelled scores in their order, and the area under the ROC curve.

use crate::{bootstrap::Bootstrap, calibration::Estimate, statistics::Groups};

/// A score, its label, and the number of its group.
pub(crate) type Scored = (f64, bool, u32);

/// Labelled scores in ascending order.
pub(crate) struct Ranking {
    pub(crate) rows: Vec<Scored>,
}

/// The number of rows of each label with at least this score.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub(crate) threshold: f64,
    pub(crate) positives: u64,
    pub(crate) negatives: u64,
}

impl Step {
    pub(crate) fn accepted(&self) -> u64 {
        self.positives + self.negatives
    }

    pub(crate) fn precision(&self) -> f64 {
        self.positives as f64 / self.accepted() as f64
    }
}

impl Ranking {
    pub(crate) fn new(rows: impl Iterator<Item = Scored>) -> Self {
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Self { rows }
    }

    /// Returns the rows of each distinct score, from the lowest.
    pub(crate) fn ties(&self) -> impl DoubleEndedIterator<Item = &[Scored]> {
        self.rows.chunk_by(|a, b| a.0 == b.0)
    }

    /// Returns a step for each distinct score, from the highest. A row counts as often as `weight` says
    /// of its group.
    pub(crate) fn steps(&self, weight: impl Fn(u32) -> u32) -> impl Iterator<Item = Step> {
        let mut step = Step::default();
        self.ties().rev().filter_map(move |tied| {
            let before = step.accepted();
            step.threshold = tied[0].0;
            for (_, label, group) in tied {
                let count = if *label { &mut step.positives } else { &mut step.negatives };
                *count += u64::from(weight(*group));
            }
            (step.accepted() > before).then_some(step)
        })
    }

    /// Returns the number of pairs of a positive and a negative row that the scores put in the right order,
    /// counted twice, where ties count once; and the number of all pairs. A row counts as often as `weight`
    /// says of its group.
    pub(crate) fn concordance(&self, weight: impl Fn(u32) -> u32) -> [u64; 2] {
        let mut twice = 0;
        let mut before = Step::default();
        for step in self.steps(weight) {
            twice += (step.negatives - before.negatives) * (before.positives + step.positives);
            before = step;
        }
        [twice, before.positives * before.negatives]
    }

    /// Returns the area under the ROC curve with its interval; `None` unless there are both labels.
    pub(crate) fn auc(&self, groups: &Groups, bootstrap: &Bootstrap) -> Option<Estimate> {
        let value = area(self.concordance(|_| 1))?;
        let mut areas = Vec::new();
        bootstrap.draw(groups, |counts| {
            areas.extend(area(self.concordance(|group| counts[group as usize])));
        });
        Some(bootstrap.estimate(value, areas, groups))
    }
}

pub(crate) fn totals(steps: &[Step]) -> [u64; 2] {
    steps.last().map_or([0, 0], |last| [last.positives, last.negatives])
}

/// The area under the ROC curve of a concordance; `None` without pairs.
pub(crate) fn area([twice, pairs]: [u64; 2]) -> Option<f64> {
    (pairs > 0).then(|| twice as f64 / (2.0 * pairs as f64))
}
