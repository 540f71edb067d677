//! How well scores tell positive from negative labels: ROC, AUC, precision and recall.

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{BandPoint, Estimate, OperatingPoint, PrecisionRecallPoint, RocPoint},
    quantiles::{ascending, central},
};

/// How many points a curve has at most.
const CURVE: usize = 201;

/// How many points a band has.
const BAND: usize = 101;

/// Labelled scores in descending order, each with the number of its group.
pub(crate) struct Ranking {
    rows: Vec<(f64, bool, u32)>,
}

/// How many rows of each label have at least this score.
#[derive(Debug, Clone, Copy)]
struct Step {
    threshold: f64,
    positives: u64,
    negatives: u64,
}

/// What [`Ranking::curves`] returns.
pub(crate) struct Curves {
    pub(crate) auc: Estimate,
    pub(crate) average_precision: Estimate,
    pub(crate) roc: Vec<RocPoint>,
    pub(crate) roc_band: Vec<BandPoint>,
    pub(crate) precision_recall: Vec<PrecisionRecallPoint>,
    pub(crate) precision_recall_band: Vec<BandPoint>,
    pub(crate) youden: OperatingPoint,
    pub(crate) best_f1: OperatingPoint,
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
    fn steps(&self, weight: impl Fn(usize) -> u32) -> Vec<Step> {
        let mut step = Step { threshold: 0.0, positives: 0, negatives: 0 };
        let mut steps = Vec::new();
        for tied in self.rows.chunk_by(|a, b| a.0 == b.0) {
            let before = (step.positives, step.negatives);
            for (score, label, group) in tied {
                step.threshold = *score;
                let count = if *label { &mut step.positives } else { &mut step.negatives };
                *count += u64::from(weight(*group as usize));
            }
            if before != (step.positives, step.negatives) {
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

    /// Returns the curves with their areas, and the best thresholds; `None` unless there are both
    /// labels. Bands and intervals come from the bootstrap.
    pub(crate) fn curves(&self, groups: &Groups, bootstrap: &Bootstrap) -> Option<Curves> {
        let auc = self.auc(groups, bootstrap)?;
        let mut precisions = Vec::new();
        let mut roc_band = vec![Vec::new(); BAND];
        let mut precision_band = vec![Vec::new(); BAND];
        bootstrap.draw(groups, |counts| {
            let steps = self.steps(|group| counts[group]);
            if area(&steps).is_some() {
                precisions.push(average_precision(&steps));
                add_roc(&steps, &mut roc_band);
                add_precision(&steps, &mut precision_band);
            }
        });
        let steps = self.steps(|_| 1);
        Some(Curves {
            auc,
            average_precision: bootstrap.estimate(average_precision(&steps), precisions, groups),
            roc: thin(roc(&steps), CURVE),
            roc_band: band(roc_band, bootstrap.level),
            precision_recall: thin(precision_recall(&steps), CURVE),
            // Nothing is accepted at recall 0, so there is no precision.
            precision_recall_band: band(precision_band, bootstrap.level).split_off(1),
            youden: best(&steps, |point| point.recall - point.false_positive_rate)?,
            best_f1: best(&steps, |point| {
                let sum = point.precision + point.recall;
                if sum > 0.0 { 2.0 * point.precision * point.recall / sum } else { 0.0 }
            })?,
        })
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

/// The points of the ROC curve, from the one that accepts nothing.
fn roc(steps: &[Step]) -> Vec<RocPoint> {
    let [positives, negatives] = totals(steps);
    let first = RocPoint { threshold: None, false_positive_rate: 0.0, true_positive_rate: 0.0 };
    let rest = steps.iter().map(|step| RocPoint {
        threshold: Some(step.threshold),
        false_positive_rate: step.negatives as f64 / negatives as f64,
        true_positive_rate: step.positives as f64 / positives as f64,
    });
    std::iter::once(first).chain(rest).collect()
}

/// The points of the precision–recall curve, from the one that accepts nothing.
fn precision_recall(steps: &[Step]) -> Vec<PrecisionRecallPoint> {
    let [positives, _] = totals(steps);
    let first = PrecisionRecallPoint { threshold: None, precision: 1.0, recall: 0.0 };
    let rest = steps.iter().map(|step| PrecisionRecallPoint {
        threshold: Some(step.threshold),
        precision: precision(step),
        recall: step.positives as f64 / positives as f64,
    });
    std::iter::once(first).chain(rest).collect()
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

/// The mean of the precisions at the thresholds, each weighted by the recall that it adds.
fn average_precision(steps: &[Step]) -> f64 {
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
        // Past the last point at this rate, as the curve rises vertically there.
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

/// Returns the threshold of the greatest `value`, the strictest of equal ones.
fn best(steps: &[Step], value: impl Fn(&OperatingPoint) -> f64) -> Option<OperatingPoint> {
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
    points.reduce(|best, point| if point.value > best.value { point } else { best })
}

/// Returns at most `most` of the points at even steps, the first and the last among them.
pub(crate) fn thin<T: Clone>(points: Vec<T>, most: usize) -> Vec<T> {
    let last = points.len().saturating_sub(1);
    if points.len() <= most {
        return points;
    }
    (0..most).map(|index| points[index * last / (most - 1)].clone()).collect()
}
