//! How well scores tell positive from negative labels: ROC, precision and recall.

use std::iter::once;

use crate::{
    bootstrap::Bootstrap,
    calibration::{BandPoint, Interval, Labels, OperatingPoint, PrecisionRecallPoint, RocPoint},
    labels::{Labelled, deciles, judge_leakage},
    ranking::{Step, totals},
    statistics::{central, intraclass_correlation},
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
    let (mut roc_band, mut precision_band) = (vec![Vec::new(); BAND], vec![Vec::new(); BAND]);
    bootstrap.draw(groups, |counts| {
        let steps: Vec<Step> = ranking.steps(|group| counts[group as usize]).collect();
        if !totals(&steps).contains(&0) {
            precisions.push(average_precision(&steps));
            for (index, at) in places().enumerate() {
                roc_band[index].push(true_positive_rate(&steps, at));
                precision_band[index].push(precision_at(&steps, at));
            }
        }
    });
    let steps: Vec<Step> = ranking.steps(|_| 1).collect();
    let [positives, negatives] = totals(&steps).map(|total| total as f64);
    let points = steps.iter().map(|step| OperatingPoint {
        threshold: step.threshold,
        value: 0.0,
        precision: step.precision(),
        recall: step.positives as f64 / positives,
        false_positive_rate: step.negatives as f64 / negatives,
        share: step.accepted() as f64 / (positives + negatives),
    });
    // Returns the point of the greatest value, the strictest of equal ones.
    let best = |value: fn(&OperatingPoint) -> f64| {
        let valued = points.clone().map(|point| OperatingPoint { value: value(&point), ..point });
        valued.rev().max_by(|a, b| a.value.total_cmp(&b.value))
    };
    let roc = points.clone().map(|point| RocPoint {
        threshold: Some(point.threshold),
        false_positive_rate: point.false_positive_rate,
        true_positive_rate: point.recall,
    });
    let accepted_nothing = PrecisionRecallPoint { threshold: None, precision: 1.0, recall: 0.0 };
    let precision_recall = points.clone().map(|point| PrecisionRecallPoint {
        threshold: Some(point.threshold),
        precision: point.precision,
        recall: point.recall,
    });
    Some(Labels {
        positives: labelled.positives(),
        negatives: labelled.negatives(),
        groups: groups.count,
        intraclass_correlation: intraclass_correlation(labels, groups),
        auc,
        average_precision: bootstrap.estimate(average_precision(&steps), precisions, groups),
        // Both curves begin where nothing is accepted.
        roc: thin(once(RocPoint::default()).chain(roc), CURVE),
        roc_band: band(roc_band, level),
        precision_recall: thin(once(accepted_nothing).chain(precision_recall), CURVE),
        // Nothing is accepted at recall 0, so there is no precision.
        precision_recall_band: band(precision_band, level).split_off(1),
        deciles: deciles(labelled, level),
        youden: best(|point| point.recall - point.false_positive_rate)?,
        best_f1: best(|point| {
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

/// Returns the places of a band, from 0 to 1.
fn places() -> impl Iterator<Item = f64> {
    (0..BAND).map(|index| index as f64 / (BAND - 1) as f64)
}

/// Returns the true-positive rate at a false-positive rate, interpolated between points.
fn true_positive_rate(steps: &[Step], at: f64) -> f64 {
    let [positives, negatives] = totals(steps).map(|total| total as f64);
    let rates =
        |step: &Step| (step.negatives as f64 / negatives, step.positives as f64 / positives);
    // Past the last point at this rate, because the curve is vertical there.
    let (before, after) = steps.split_at(steps.partition_point(|step| rates(step).0 <= at));
    let (x, y) = before.last().map_or((0.0, 0.0), rates);
    after.first().map(rates).map_or(y, |next| y + (next.1 - y) * (at - x) / (next.0 - x))
}

/// Returns the precision of the strictest threshold that reaches a recall.
fn precision_at(steps: &[Step], recall: f64) -> f64 {
    let needed = recall * totals(steps)[0] as f64;
    steps[steps.partition_point(|step| (step.positives as f64) < needed)].precision()
}

fn band(values: Vec<Vec<f64>>, level: f64) -> Vec<BandPoint> {
    let point = |(at, values)| {
        let interval = central(values, level);
        let Interval { low, high } = interval.unwrap_or(Interval { low: 0.0, high: 1.0 });
        BandPoint { at, low, high }
    };
    places().zip(values).map(point).collect()
}

/// Returns at most `most` of the points at even steps, the first and the last among them.
pub(crate) fn thin<T: Copy>(points: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let points: Vec<T> = points.collect();
    if points.len() <= most {
        return points;
    }
    (0..most).map(|index| points[index * (points.len() - 1) / (most - 1)]).collect()
}
