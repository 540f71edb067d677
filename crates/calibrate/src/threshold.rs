//! Thresholds: for a target share, for a target precision, or as given.

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{Precision, Threshold},
    labels::Labelled,
    options::Target,
    quantiles::{ascending, central},
    wilson::{EffectiveSize, intraclass_correlation, wilson},
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
    let ranked = Ranked::new(scores, groups);
    let precisions = precisions(labelled, bootstrap.level);
    let precision_at = |threshold| {
        let accepted = precisions.iter().take_while(|point| point.threshold >= threshold);
        Some(Precision { threshold, ..*accepted.last()? })
    };
    match target {
        Target::Threshold(value) => {
            Threshold { precision: precision_at(value), ..ranked.accept(Some(value), bootstrap) }
        }
        Target::Share(share) => {
            let chosen = ranked.nearest_share(share, |_| 1);
            let value = chosen.map(|chosen| ranked.above_next(chosen.lowest));
            let mut thresholds = Vec::new();
            bootstrap.draw(groups, |counts| {
                let chosen = ranked.nearest_share(share, |group| counts[group as usize]);
                thresholds.extend(chosen.map(|chosen| chosen.lowest));
            });
            let interval = central(&ascending(thresholds), bootstrap.level);
            Threshold {
                interval: interval.filter(|_| groups.count() > 1),
                stricter_share: chosen.and_then(|chosen| chosen.stricter),
                looser_share: chosen.and_then(|chosen| chosen.looser),
                precision: value.and_then(precision_at),
                ..ranked.accept(value, bootstrap)
            }
        }
        Target::Precision(target) => {
            // The loosest threshold whose lower bound reaches the target.
            let reaching = precisions.iter().rfind(|point| point.interval.low >= target);
            // Used rows without a label are accepted by the same threshold.
            let value = reaching.map(|reaching| ranked.above_next(reaching.threshold));
            let best = precisions.iter().reduce(|best, point| {
                if point.interval.low > best.interval.low { point } else { best }
            });
            let precision = reaching.or(best).map(|precision| Precision {
                threshold: value.unwrap_or(precision.threshold),
                ..*precision
            });
            Threshold { precision, ..ranked.accept(value, bootstrap) }
        }
    }
}

/// Scores in descending order, each with its group.
struct Ranked<'a> {
    rows: Vec<(f64, u32)>,
    groups: &'a Groups,
}

/// A threshold that accepts a share.
#[derive(Debug, Clone, Copy)]
struct Chosen {
    lowest: f64,
    share: f64,
    stricter: Option<f64>,
    looser: Option<f64>,
}

impl<'a> Ranked<'a> {
    fn new(scores: &[f64], groups: &'a Groups) -> Self {
        let mut rows: Vec<_> = scores.iter().copied().zip(groups.of().iter().copied()).collect();
        rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        Self { rows, groups }
    }

    /// Returns the threshold whose share is nearest to `target`, the stricter one of two; every
    /// threshold accepts at least one row. A row counts as often as `weight` says of its group.
    fn nearest_share(&self, target: f64, weight: impl Fn(u32) -> u32) -> Option<Chosen> {
        let total = count(&self.rows, &weight) as f64;
        let mut accepted = 0;
        let mut chosen: Option<Chosen> = None;
        for tied in self.rows.chunk_by(|a, b| a.0 == b.0) {
            let added = count(tied, &weight);
            if added == 0 {
                continue;
            }
            accepted += added;
            let share = accepted as f64 / total;
            match &mut chosen {
                Some(best) if (share - target).abs() >= (best.share - target).abs() => {
                    best.looser = Some(share);
                    break;
                }
                _ => {
                    let stricter = chosen.map(|chosen| chosen.share);
                    chosen = Some(Chosen { lowest: tied[0].0, share, stricter, looser: None });
                }
            }
        }
        chosen
    }

    /// Returns the shortest decimal that is not above `lowest`, but above every lower score.
    fn above_next(&self, lowest: f64) -> f64 {
        let next = self.rows.partition_point(|row| row.0 >= lowest);
        shortest(self.rows.get(next).map(|row| row.0), lowest)
    }

    /// Describes what `value` accepts.
    fn accept(&self, value: Option<f64>, bootstrap: &Bootstrap) -> Threshold {
        let accepted = value.map_or(0, |value| self.rows.partition_point(|row| row.0 >= value));
        let mut shares = Vec::new();
        bootstrap.draw(self.groups, |counts| {
            let weight = |group| counts[group as usize];
            let taken = count(&self.rows[..accepted], &weight);
            shares.push(taken as f64 / count(&self.rows, &weight) as f64);
        });
        let lowest = accepted.checked_sub(1).map(|last| self.rows[last].0);
        let share = accepted as f64 / self.rows.len() as f64;
        Threshold {
            value,
            interval: None,
            share: bootstrap.estimate(share, shares, self.groups),
            accepted,
            tied: self.rows.iter().filter(|row| Some(row.0) == lowest).count(),
            stricter_share: None,
            looser_share: None,
            precision: None,
        }
    }
}

fn count(rows: &[(f64, u32)], weight: &impl Fn(u32) -> u32) -> u64 {
    rows.iter().map(|row| u64::from(weight(row.1))).sum()
}

/// Returns the shortest decimal above `below` that is at most `value`, which is in \[0, 1\].
fn shortest(below: Option<f64>, value: f64) -> f64 {
    let decimals = (0..17).map(|digits| {
        let scale = 10_f64.powi(digits);
        (value * scale).floor() / scale
    });
    let fits = |decimal: &f64| *decimal <= value && below.is_none_or(|below| *decimal > below);
    decimals.into_iter().find(fits).unwrap_or(value)
}

/// Returns the precision at every distinct score, from the strictest.
fn precisions(labelled: &Labelled, level: f64) -> Vec<Precision> {
    let Labelled { scores, labels, groups, .. } = labelled;
    let mut size = EffectiveSize::new(intraclass_correlation(labels, groups), groups);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let all = labelled.positives().max(1) as f64;
    let (mut accepted, mut positives) = (0, 0);
    let points = order.chunk_by(|a, b| scores[*a] == scores[*b]).map(|tied| {
        for place in tied {
            accepted += 1;
            positives += usize::from(labels[*place]);
            size.add(groups.of()[*place]);
        }
        let precision = positives as f64 / accepted as f64;
        let effective = size.get();
        Precision {
            threshold: scores[tied[0]],
            precision,
            interval: wilson(precision * effective, effective, level),
            recall: positives as f64 / all,
            accepted,
            effective,
        }
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use knowledgepulse_workers::CancelToken;

    use super::*;

    fn groups(n: usize) -> Groups {
        Groups::new(vec![None; n])
    }

    fn chosen(target: Target, scores: &[f64], groups: &Groups, labelled: &Labelled) -> Threshold {
        let cancel = &CancelToken::default();
        let bootstrap = Bootstrap { replicates: 200, level: 0.95, seed: 0, cancel };
        choose(target, scores, groups, labelled, &bootstrap)
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
