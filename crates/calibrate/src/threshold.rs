//! Thresholds: for a target share, for a target precision, or as given.

use crate::{
    bootstrap::Bootstrap,
    calibration::{Precision, Threshold},
    labels::Labelled,
    options::Target,
    ranking::{Ranking, Step},
    statistics::{EffectiveSize, Groups, central, intraclass_correlation, wilson},
};

/// Chooses a threshold by `scores`, of which there is at least one. A target precision finds none
/// without labels.
pub(crate) fn choose(
    target: Target,
    scores: &[f64],
    groups: &Groups,
    labelled: &Labelled,
    bootstrap: &Bootstrap,
) -> Threshold {
    // All rows, with or without labels.
    let alike = scores.iter().zip(&groups.of).map(|(score, group)| (*score, true, *group));
    let ranking = Ranking::new(alike);
    let steps: Vec<Step> = ranking.steps(|_| 1).collect();
    let precisions = precisions(labelled, bootstrap.options.level);
    // The shortest decimal of at most `lowest` that is above every lower score.
    let above_next = |lowest: f64| {
        let next = steps.iter().map(|step| step.threshold).find(|threshold| *threshold < lowest);
        shortest(next, lowest)
    };
    let [mut stricter_share, mut looser_share] = [None; 2];
    let value = match target {
        Target::Threshold(value) => Some(value),
        Target::Share(share) => {
            let nearest = nearest_share(&steps, share);
            let share_at = |place: Option<usize>| Some(share_of(steps.get(place?)?, &steps));
            [stricter_share, looser_share] =
                [nearest.checked_sub(1), Some(nearest + 1)].map(share_at);
            Some(above_next(steps[nearest].threshold))
        }
        Target::Precision(target) => {
            // The loosest threshold whose lower bound reaches the target.
            let reaching = precisions.iter().rfind(|point| point.interval.low >= target);
            // By the steps of all used rows: those without a label are accepted by the same threshold.
            reaching.map(|reaching| above_next(reaching.threshold))
        }
    };
    let precision = if let Some(threshold) = value {
        let accepted = precisions.iter().take_while(|point| point.threshold >= threshold);
        accepted.last().map(|last| Precision { threshold, ..*last })
    } else {
        // The strictest of equal ones.
        let points = precisions.into_iter().rev();
        points.max_by(|a, b| a.interval.low.total_cmp(&b.interval.low))
    };
    let (mut shares, mut thresholds) = (Vec::new(), Vec::new());
    bootstrap.draw(groups, |counts| {
        let steps: Vec<Step> = ranking.steps(|group| counts[group as usize]).collect();
        shares.push(rows(accepted(&steps, value)) as f64 / rows(&steps) as f64);
        if let Target::Share(share) = target {
            thresholds.push(steps[nearest_share(&steps, share)].threshold);
        }
    });
    let accepted = accepted(&steps, value);
    let stricter = accepted.split_last().map_or(0, |(_, stricter)| rows(stricter));
    let share = rows(accepted) as f64 / scores.len() as f64;
    Threshold {
        value,
        interval: central(thresholds, bootstrap.options.level).filter(|_| groups.count > 1),
        share: bootstrap.estimate(share, shares, groups),
        accepted: rows(accepted) as usize,
        tied: (rows(accepted) - stricter) as usize,
        stricter_share,
        looser_share,
        precision,
    }
}

/// Returns the number of rows that the last of some steps accepts.
fn rows(steps: &[Step]) -> u64 {
    steps.last().map_or(0, Step::accepted)
}

/// Returns the steps whose rows a threshold accepts.
fn accepted(steps: &[Step], threshold: Option<f64>) -> &[Step] {
    let accepts = |threshold| steps.partition_point(|step| step.threshold >= threshold);
    &steps[..threshold.map_or(0, accepts)]
}

/// Returns the accepted share at a step.
fn share_of(step: &Step, steps: &[Step]) -> f64 {
    step.accepted() as f64 / rows(steps) as f64
}

/// Returns the place of the step whose share is nearest to `target`, the stricter one of two; every step
/// accepts at least one row.
fn nearest_share(steps: &[Step], target: f64) -> usize {
    let distance = |step: &Step| (share_of(step, steps) - target).abs();
    let mut pairs = steps.windows(2);
    let nearest = pairs.position(|pair| distance(&pair[1]) >= distance(&pair[0]));
    nearest.unwrap_or(steps.len() - 1)
}

/// Returns the shortest decimal above `below` that is at most `value`, which is in \[0, 1\].
fn shortest(below: Option<f64>, value: f64) -> f64 {
    let mut decimals = (0..17).map(|digits| {
        let scale = 10_f64.powi(digits);
        (value * scale).floor() / scale
    });
    let fits = |decimal: &f64| *decimal <= value && below.is_none_or(|below| *decimal > below);
    decimals.find(fits).unwrap_or(value)
}

/// Returns the precision at every distinct score, from the strictest.
fn precisions(labelled: &Labelled, level: f64) -> Vec<Precision> {
    let Labelled { scores, labels, groups, .. } = labelled;
    let mut size = EffectiveSize::new(intraclass_correlation(labels, groups), groups);
    let ranking = labelled.ranking(scores.iter().copied());
    let all = labelled.positives().max(1) as f64;
    let points = ranking.steps(|_| 1).zip(ranking.ties().rev()).map(|(step, tied)| {
        tied.iter().for_each(|(_, _, group)| size.add(*group));
        let (precision, effective) = (step.precision(), size.get());
        Precision {
            threshold: step.threshold,
            precision,
            interval: wilson(precision * effective, effective, level),
            recall: step.positives as f64 / all,
            accepted: step.accepted() as usize,
            effective,
        }
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use knowledgepulse_workers::CancelToken;

    use super::*;
    use crate::options::Options;

    fn groups(n: usize) -> Groups {
        Groups::new(vec![None; n])
    }

    fn chosen(target: Target, scores: &[f64], groups: &Groups, labelled: &Labelled) -> Threshold {
        let cancel = &CancelToken::default();
        let options = &Options { replicates: 200, ..Options::default() };
        choose(target, scores, groups, labelled, &Bootstrap { options, cancel })
    }

    fn by_share(scores: &[f64], share: f64) -> Threshold {
        let groups = groups(scores.len());
        let none = Labelled::of([]);
        chosen(Target::Share(share), scores, &groups, &none)
    }

    #[test]
    fn share_is_the_nearest_that_ties_allow() {
        let scores = [0.9, 0.7, 0.7, 0.7, 0.31, 0.29, 0.2, 0.2, 0.1, 0.05];
        for (target, value, accepted, tied, stricter, looser) in [
            (0.1, 0.8, 1, 1, None, Some(0.4)),
            (0.2, 0.8, 1, 1, None, Some(0.4)),
            (0.25, 0.8, 1, 1, None, Some(0.4)),
            (0.26, 0.7, 4, 3, Some(0.1), Some(0.5)),
            (0.5, 0.3, 5, 1, Some(0.4), Some(0.6)),
            (1.0, 0.0, 10, 1, Some(0.9), None),
            (0.001, 0.8, 1, 1, None, Some(0.4)),
        ] {
            let found = by_share(&scores, target);
            assert_eq!((found.accepted, found.tied), (accepted, tied), "{target}");
            assert_eq!((found.stricter_share, found.looser_share), (stricter, looser), "{target}");
            let taken = scores.iter().filter(|score| **score >= found.value.unwrap()).count();
            assert_eq!(taken, accepted, "{target}");
            assert!(found.value.unwrap() <= value + 0.1, "{target}: {:?}", found.value);
        }
        let same = by_share(&[0.5; 8], 0.2);
        assert_eq!((same.value, same.accepted, same.tied), (Some(0.0), 8, 8));
    }

    #[test]
    fn shortest_decimal_separates_scores() {
        for (below, value, expected) in [
            (Some(0.45712), 0.45731, 0.4573),
            (Some(0.2), 0.9, 0.9),
            (Some(0.2), 1.0, 1.0),
            (None, 0.7, 0.0),
            (Some(0.0), 0.0004, 0.0004),
            (Some(0.3), 0.1 + 0.2, 0.1 + 0.2),
        ] {
            assert_eq!(shortest(below, value), expected, "{below:?} {value}");
        }
    }

    #[test]
    fn precision_counts_the_lower_bound() {
        let scores: Vec<f64> = (0..200).map(|i| f64::from(i) / 200.0).collect();
        let labels = scores.iter().map(|score| *score >= 0.5).collect();
        let rows = Vec::new();
        let labelled = Labelled { rows, scores: scores.clone(), labels, groups: groups(200) };
        let find = |target| chosen(Target::Precision(target), &scores, &labelled.groups, &labelled);
        let found = find(0.9);
        let precision = found.precision.unwrap();
        assert!(precision.interval.low >= 0.9 && precision.precision < 1.0);
        assert_eq!(precision.accepted, found.accepted);
        assert!((precision.effective - precision.accepted as f64).abs() < 1e-9);
        let found = find(0.99);
        assert_eq!((found.value, found.accepted), (None, 0));
        assert!(found.precision.unwrap().interval.low < 0.99);
    }
}
