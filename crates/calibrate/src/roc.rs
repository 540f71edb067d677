//! How well scores tell positive from negative labels: ROC, AUC, precision and recall.

use std::iter::once;

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{BandPoint, Estimate, Labels, OperatingPoint, PrecisionRecallPoint, RocPoint},
    labels::{Labelled, deciles, judge_leakage},
    options::Options,
    quantiles::{ascending, central},
    wilson::intraclass_correlation,
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
pub(crate) struct Step {
    pub(crate) threshold: f64,
    positives: u64,
    negatives: u64,
}

impl Step {
    pub(crate) fn accepted(&self) -> u64 {
        self.positives + self.negatives
    }

    fn precision(&self) -> f64 {
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

/// Judges the scores by the labels; `None` unless there are both labels. Bands and intervals come from the
/// bootstrap.
pub(crate) fn judge(
    labelled: &Labelled,
    options: &Options,
    bootstrap: &Bootstrap,
) -> Option<Labels> {
    let Labelled { scores, labels, groups, .. } = labelled;
    let ranking = Ranking::new(scores, labels, &groups.of);
    let auc = ranking.auc(groups, bootstrap)?;
    let mut precisions = Vec::new();
    let mut roc_band = vec![Vec::new(); BAND];
    let mut precision_band = vec![Vec::new(); BAND];
    bootstrap.draw(groups, |counts| {
        let steps = ranking.steps(|group| counts[group]);
        if area(&steps).is_some() {
            precisions.push(average_precision(&steps));
            add_roc(&steps, &mut roc_band);
            add_precision(&steps, &mut precision_band);
        }
    });
    let steps = ranking.steps(|_| 1);
    let points = operating_points(&steps);
    // Both curves begin where nothing is accepted.
    let roc = RocPoint { threshold: None, false_positive_rate: 0.0, true_positive_rate: 0.0 };
    let roc = once(roc).chain(points.iter().map(|point| RocPoint {
        threshold: Some(point.threshold),
        false_positive_rate: point.false_positive_rate,
        true_positive_rate: point.recall,
    }));
    let curve = PrecisionRecallPoint { threshold: None, precision: 1.0, recall: 0.0 };
    let curve = once(curve).chain(points.iter().map(|point| PrecisionRecallPoint {
        threshold: Some(point.threshold),
        precision: point.precision,
        recall: point.recall,
    }));
    Some(Labels {
        positives: labelled.positives(),
        negatives: labelled.negatives(),
        groups: groups.count,
        intraclass_correlation: intraclass_correlation(labels, groups),
        auc,
        average_precision: bootstrap.estimate(average_precision(&steps), precisions, groups),
        roc: thin(roc.collect(), CURVE),
        roc_band: band(roc_band, bootstrap.level),
        precision_recall: thin(curve.collect(), CURVE),
        // Nothing is accepted at recall 0, so there is no precision.
        precision_recall_band: band(precision_band, bootstrap.level).split_off(1),
        deciles: deciles(labelled, bootstrap.level),
        youden: best(&points, |point| point.recall - point.false_positive_rate)?,
        best_f1: best(&points, |point| {
            let sum = point.precision + point.recall;
            if sum > 0.0 { 2.0 * point.precision * point.recall / sum } else { 0.0 }
        })?,
        leakage: judge_leakage(labelled, options, bootstrap),
    })
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

fn totals(steps: &[Step]) -> [u64; 2] {
    steps.last().map_or([0, 0], |last| [last.positives, last.negatives])
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
        sum += (step.positives - before) as f64 * step.precision();
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
        values.extend(rest.peek().map(|step| step.precision()));
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

/// Returns what the threshold of each step does, without a value.
fn operating_points(steps: &[Step]) -> Vec<OperatingPoint> {
    let [positives, negatives] = totals(steps).map(|total| total as f64);
    let point = |step: &Step| OperatingPoint {
        threshold: step.threshold,
        value: 0.0,
        precision: step.precision(),
        recall: step.positives as f64 / positives,
        false_positive_rate: step.negatives as f64 / negatives,
        share: step.accepted() as f64 / (positives + negatives),
    };
    steps.iter().map(point).collect()
}

/// Returns the point of the greatest `value`, the strictest of equal ones.
fn best(
    points: &[OperatingPoint],
    value: impl Fn(&OperatingPoint) -> f64,
) -> Option<OperatingPoint> {
    let valued = points.iter().map(|point| OperatingPoint { value: value(point), ..*point });
    valued.reduce(|best, point| if point.value > best.value { point } else { best })
}

/// Returns at most `most` of the points at even steps, the first and the last among them.
pub(crate) fn thin<T: Clone>(points: Vec<T>, most: usize) -> Vec<T> {
    let last = points.len().saturating_sub(1);
    if points.len() <= most {
        return points;
    }
    (0..most).map(|index| points[index * last / (most - 1)].clone()).collect()
}
