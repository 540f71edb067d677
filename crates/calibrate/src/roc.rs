//! How well scores tell positive from negative labels: ROC, precision and recall.

use std::iter::once;

use crate::{
    bootstrap::Bootstrap,
    calibration::{BandPoint, Labels, OperatingPoint, PrecisionRecallPoint, RocPoint},
    labels::{Labelled, deciles, judge_leakage},
    quantiles::{ascending, central},
    ranking::{Step, totals},
    wilson::intraclass_correlation,
};

/// The maximum number of points of a curve.
const CURVE: usize = 201;

/// The number of points of a band.
const BAND: usize = 101;

/// Judges the scores by the labels; `None` unless there are both labels. Bands and intervals come from the
/// bootstrap.
pub(crate) fn judge(labelled: &Labelled, bootstrap: &Bootstrap) -> Option<Labels> {
    let level = bootstrap.options.level;
    let Labelled { scores, labels, groups, .. } = labelled;
    let ranking = labelled.ranking(scores.iter().copied());
    let auc = ranking.auc(groups, bootstrap)?;
    let mut precisions = Vec::new();
    let mut roc_band = vec![Vec::new(); BAND];
    let mut precision_band = vec![Vec::new(); BAND];
    bootstrap.draw(groups, |counts| {
        let steps: Vec<Step> = ranking.steps(|group| counts[group as usize]).collect();
        if !totals(&steps).contains(&0) {
            precisions.push(average_precision(&steps));
            add_roc(&steps, &mut roc_band);
            add_precision(&steps, &mut precision_band);
        }
    });
    let steps: Vec<Step> = ranking.steps(|_| 1).collect();
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
        roc_band: band(roc_band, level),
        precision_recall: thin(curve.collect(), CURVE),
        // Nothing is accepted at recall 0, so there is no precision.
        precision_recall_band: band(precision_band, level).split_off(1),
        deciles: deciles(labelled, level),
        youden: best(&points, |point| point.recall - point.false_positive_rate)?,
        best_f1: best(&points, |point| {
            let sum = point.precision + point.recall;
            if sum > 0.0 { 2.0 * point.precision * point.recall / sum } else { 0.0 }
        })?,
        leakage: judge_leakage(labelled, bootstrap),
    })
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
        // Past the last point at this rate, because the curve is vertical there.
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

/// Returns the statistics of the threshold of each step, without `value`.
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
