//! Labelled scores in their order, and the area under the ROC curve.

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::Estimate,
};

/// Labelled scores in descending order, each with the number of its group.
pub(crate) struct Ranking {
    rows: Vec<(f64, bool, u32)>,
}

/// How many rows of each label have at least this score.
#[derive(Debug, Clone, Copy)]
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
    pub(crate) fn new(scores: &[f64], labels: &[bool], groups: &[u32]) -> Self {
        let rows = scores.iter().zip(labels).zip(groups);
        let mut rows: Vec<_> =
            rows.map(|((score, label), group)| (*score, *label, *group)).collect();
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        Self { rows }
    }

    /// Returns a step for each distinct score, from the highest. A row counts as often as `weight` says
    /// of its group.
    pub(crate) fn steps(&self, weight: impl Fn(usize) -> u32) -> Vec<Step> {
        let mut step = Step { threshold: 0.0, positives: 0, negatives: 0 };
        let mut steps = Vec::new();
        for tied in self.rows.chunk_by(|a, b| a.0 == b.0) {
            let before = step.accepted();
            for (score, label, group) in tied {
                step.threshold = *score;
                let count = if *label { &mut step.positives } else { &mut step.negatives };
                *count += u64::from(weight(*group as usize));
            }
            if step.accepted() > before {
                steps.push(step);
            }
        }
        steps
    }

    /// Returns the area under the ROC curve with its interval; `None` unless there are both labels.
    pub(crate) fn auc(&self, groups: &Groups, bootstrap: &Bootstrap) -> Option<Estimate> {
        let value = area(&self.steps(|_| 1))?;
        let mut areas = Vec::new();
        bootstrap.draw(groups, |counts| areas.extend(area(&self.steps(|group| counts[group]))));
        Some(bootstrap.estimate(value, areas, groups))
    }
}

/// Returns the area under the ROC curve: how often a positive row has a higher score than a negative
/// one, a tie counting one half. `None` unless there are both labels. If the slices differ in length,
/// the rest of the longer one does not count.
///
/// ```
/// use knowledgepulse_calibrate::auc;
///
/// assert_eq!(auc(&[0.9, 0.4, 0.4, 0.1], &[true, true, false, false]), Some(0.875));
/// assert_eq!(auc(&[0.9], &[true]), None);
/// ```
pub fn auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    area(&Ranking::new(scores, labels, &vec![0; labels.len()]).steps(|_| 1))
}

pub(crate) fn totals(steps: &[Step]) -> [u64; 2] {
    steps.last().map_or([0, 0], |last| [last.positives, last.negatives])
}

/// The area under the ROC curve by trapezia, in whole numbers. `None` unless there are both labels.
pub(crate) fn area(steps: &[Step]) -> Option<f64> {
    let [positives, negatives] = totals(steps);
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut twice, mut before) = (0_u128, (0, 0));
    for step in steps {
        let width = u128::from(step.negatives - before.1);
        twice += width * u128::from(step.positives + before.0);
        before = (step.positives, step.negatives);
    }
    Some(twice as f64 / (2.0 * positives as f64 * negatives as f64))
}
