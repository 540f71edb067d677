//! How well scores tell positive from negative labels: ROC, AUC, precision and recall.

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{BandPoint, Estimate, OperatingPoint, PrecisionRecallPoint, RocPoint},
    quantiles::{ascending, central},
};

/// How many places a band has.
const BAND: usize = 101;

/// Labelled scores in descending order, with at least one of each label.
pub(crate) struct Ranking {
    /// Score, label, and place before sorting.
    rows: Vec<(f64, bool, u32)>,
}

/// How many rows of each label have a score or a higher one.
#[derive(Debug, Clone, Copy)]
struct Step {
    threshold: f64,
    positives: u64,
    negatives: u64,
}

impl Ranking {
    /// `None` unless there are both labels.
    pub(crate) fn new(scores: &[f64], labels: &[bool]) -> Option<Self> {
        let pairs = scores.iter().zip(labels).zip(0..);
        let mut rows: Vec<_> =
            pairs.map(|((score, label), place)| (*score, *label, place)).collect();
        let positives = rows.iter().filter(|row| row.1).count();
        if positives == 0 || positives == rows.len() {
            return None;
        }
        // The place makes the order one, whatever sorts.
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        Some(Self { rows })
    }

    /// Goes through the distinct scores from the highest; a row counts `weight` times.
    fn sweep(&self, weight: impl Fn(u32) -> u32, mut each: impl FnMut(Step)) {
        let mut step = Step { threshold: 0.0, positives: 0, negatives: 0 };
        for tied in self.rows.chunk_by(|a, b| a.0 == b.0) {
            let before = (step.positives, step.negatives);
            for (score, label, place) in tied {
                step.threshold = *score;
                let weight = u64::from(weight(*place));
                if *label {
                    step.positives += weight;
                } else {
                    step.negatives += weight;
                }
            }
            if before != (step.positives, step.negatives) {
                each(step);
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.sweep(|_| 1, |step| steps.push(step));
        steps
    }

    /// Returns the steps of a replicate; the vector is reused.
    fn replicate(&self, groups: &Groups, counts: &[u32], steps: &mut Vec<Step>) {
        steps.clear();
        self.sweep(|place| counts[groups.of()[place as usize] as usize], |step| steps.push(step));
    }

    /// Returns the curves and their areas, with bands and intervals by bootstrap.
    pub(crate) fn curves(&self, groups: &Groups, bootstrap: &Bootstrap) -> Curves {
        let mut steps = Vec::new();
        let [mut aucs, mut precisions] = [Vec::new(), Vec::new()];
        let mut roc = vec![Vec::new(); BAND];
        let mut precision_recall = vec![Vec::new(); BAND];
        bootstrap.draw(groups, |counts| {
            self.replicate(groups, counts, &mut steps);
            if let Some(auc) = area(&steps) {
                aucs.push(auc);
                precisions.push(average_precision_of(&steps));
                add_roc(&steps, &mut roc);
                add_precision(&steps, &mut precision_recall);
            }
        });
        let steps = self.steps();
        Curves {
            // There are both labels.
            auc: bootstrap.estimate(area(&steps).unwrap_or(0.5), aucs, groups),
            average_precision: bootstrap.estimate(average_precision_of(&steps), precisions, groups),
            roc_band: band(roc, bootstrap.level),
            // Recall 0 accepts nothing: there is no precision.
            precision_recall_band: band(precision_recall, bootstrap.level).split_off(1),
        }
    }

    /// Returns the area under the ROC curve, with its interval.
    pub(crate) fn auc(&self, groups: &Groups, bootstrap: &Bootstrap) -> Estimate {
        let mut steps = Vec::new();
        let mut aucs = Vec::new();
        bootstrap.draw(groups, |counts| {
            self.replicate(groups, counts, &mut steps);
            aucs.extend(area(&steps));
        });
        bootstrap.estimate(area(&self.steps()).unwrap_or(0.5), aucs, groups)
    }

    /// Returns where Youden's J, the true-positive rate less the false-positive rate, is greatest, and
    /// where F1 is. Of equal ones the strictest threshold.
    pub(crate) fn best(&self) -> (OperatingPoint, OperatingPoint) {
        let steps = self.steps();
        let youden = best_of(&steps, |point| point.recall - point.false_positive_rate);
        let f1 = best_of(&steps, |point| {
            let sum = point.precision + point.recall;
            if sum > 0.0 { 2.0 * point.precision * point.recall / sum } else { 0.0 }
        });
        (youden, f1)
    }
}

/// What [`Ranking::curves`] returns.
pub(crate) struct Curves {
    pub(crate) auc: Estimate,
    pub(crate) average_precision: Estimate,
    pub(crate) roc_band: Vec<BandPoint>,
    pub(crate) precision_recall_band: Vec<BandPoint>,
}

/// Returns the area under the ROC curve: how often a positive row has a higher score than a negative
/// one, a tie counting one half. `None` unless there are both labels. Labels beyond the scores, and
/// scores beyond the labels, do not count.
///
/// ```
/// use knowledgepulse_calibrate::auc;
///
/// assert_eq!(auc(&[0.9, 0.4, 0.4, 0.1], &[true, true, false, false]), Some(0.875));
/// assert_eq!(auc(&[0.9], &[true]), None);
/// ```
pub fn auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    area(&Ranking::new(scores, labels)?.steps())
}

/// Returns the points of the receiver operating characteristic from the strictest threshold, one for
/// each distinct score after the one that accepts nothing. Empty unless there are both labels.
pub fn roc_curve(scores: &[f64], labels: &[bool]) -> Vec<RocPoint> {
    Ranking::new(scores, labels).map_or_else(Vec::new, |ranking| {
        let steps = ranking.steps();
        let [positives, negatives] = totals(&steps);
        let first = RocPoint { threshold: None, false_positive_rate: 0.0, true_positive_rate: 0.0 };
        let rest = steps.iter().map(|step| RocPoint {
            threshold: Some(step.threshold),
            false_positive_rate: step.negatives as f64 / negatives as f64,
            true_positive_rate: step.positives as f64 / positives as f64,
        });
        std::iter::once(first).chain(rest).collect()
    })
}

/// Returns the points of the precision–recall curve from the strictest threshold, one for each distinct
/// score after that of recall 0. Empty unless there are both labels.
pub fn precision_recall_curve(scores: &[f64], labels: &[bool]) -> Vec<PrecisionRecallPoint> {
    Ranking::new(scores, labels).map_or_else(Vec::new, |ranking| {
        let steps = ranking.steps();
        let [positives, _] = totals(&steps);
        let first = PrecisionRecallPoint { threshold: None, precision: 1.0, recall: 0.0 };
        let rest = steps.iter().map(|step| PrecisionRecallPoint {
            threshold: Some(step.threshold),
            precision: precision(step),
            recall: step.positives as f64 / positives as f64,
        });
        std::iter::once(first).chain(rest).collect()
    })
}

/// Returns the mean of the precisions at the thresholds, each weighted by the recall that it adds.
/// `None` unless there are both labels.
pub fn average_precision(scores: &[f64], labels: &[bool]) -> Option<f64> {
    Some(average_precision_of(&Ranking::new(scores, labels)?.steps()))
}

fn totals(steps: &[Step]) -> [u64; 2] {
    steps.last().map_or([0, 0], |last| [last.positives, last.negatives])
}

fn precision(step: &Step) -> f64 {
    step.positives as f64 / (step.positives + step.negatives) as f64
}

/// The area under the ROC curve by trapezia, in whole numbers. `None` unless there are both labels.
fn area(steps: &[Step]) -> Option<f64> {
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

fn average_precision_of(steps: &[Step]) -> f64 {
    let [positives, _] = totals(steps);
    let mut before = 0;
    let mut sum = 0.0;
    for step in steps {
        sum += (step.positives - before) as f64 * precision(step);
        before = step.positives;
    }
    sum / positives as f64
}

/// Adds the true-positive rate at each false-positive rate of the band, interpolated between points.
fn add_roc(steps: &[Step], band: &mut [Vec<f64>]) {
    let [positives, negatives] = totals(steps);
    let mut before = (0.0, 0.0);
    let mut rest = steps.iter().map(|step| {
        (step.negatives as f64 / negatives as f64, step.positives as f64 / positives as f64)
    });
    let mut next = rest.next();
    for (index, values) in band.iter_mut().enumerate() {
        let at = index as f64 / (BAND - 1) as f64;
        // Past the last point at this rate: the curve rises straight up.
        while let Some(point) = next.filter(|point| point.0 <= at) {
            before = point;
            next = rest.next();
        }
        values.push(next.map_or(before.1, |point| {
            before.1 + (point.1 - before.1) * (at - before.0) / (point.0 - before.0)
        }));
    }
}

/// Adds the precision of the strictest threshold that reaches each recall of the band.
fn add_precision(steps: &[Step], band: &mut [Vec<f64>]) {
    let [positives, _] = totals(steps);
    let mut rest = steps.iter().peekable();
    for (index, values) in band.iter_mut().enumerate() {
        let needed = index as f64 / (BAND - 1) as f64 * positives as f64;
        while rest.next_if(|step| (step.positives as f64) < needed).is_some() {}
        values.extend(rest.peek().map(|step| precision(step)));
    }
}

fn band(places: Vec<Vec<f64>>, level: f64) -> Vec<BandPoint> {
    let point = |(index, values)| {
        let at = index as f64 / (BAND - 1) as f64;
        let interval = central(&ascending(values), level);
        let (low, high) = interval.map_or((0.0, 1.0), |interval| (interval.low, interval.high));
        BandPoint { at, low, high }
    };
    places.into_iter().enumerate().map(point).collect()
}

fn best_of(steps: &[Step], value: impl Fn(&OperatingPoint) -> f64) -> OperatingPoint {
    let [positives, negatives] = totals(steps).map(|total| total as f64);
    let points = steps.iter().map(|step| {
        let mut point = OperatingPoint {
            threshold: step.threshold,
            value: 0.0,
            precision: precision(step),
            recall: step.positives as f64 / positives,
            false_positive_rate: step.negatives as f64 / negatives,
            share: (step.positives + step.negatives) as f64 / (positives + negatives),
        };
        point.value = value(&point);
        point
    });
    let none = OperatingPoint {
        threshold: 1.0,
        value: f64::NEG_INFINITY,
        precision: 1.0,
        recall: 0.0,
        false_positive_rate: 0.0,
        share: 0.0,
    };
    points.fold(none, |best, point| if point.value > best.value { point } else { best })
}

/// Returns at most `most` of the points, the first and the last among them, at even steps.
pub(crate) fn thin<T: Clone>(points: Vec<T>, most: usize) -> Vec<T> {
    let last = points.len().saturating_sub(1);
    if points.len() <= most {
        return points;
    }
    (0..most).map(|index| points[index * last / (most - 1)].clone()).collect()
}
