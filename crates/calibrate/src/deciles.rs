//! The label rate by decile of the score.

use crate::{
    calibration::Decile,
    quantiles::{ascending, quantile},
    threshold::Labelled,
    wilson::{EffectiveSize, intraclass_correlation, wilson},
};

/// Returns the deciles that have rows, from the lowest. A decile ends with the score that is its upper
/// quantile, as with `qcut` of pandas, so rows of one score are together.
pub(crate) fn deciles(labelled: &Labelled, level: f64) -> Vec<Decile> {
    let Labelled { scores, labels, groups } = labelled;
    let correlation = intraclass_correlation(labels, groups);
    let sorted = ascending(scores.iter().copied());
    let mut edges: Vec<f64> =
        (1..=9).filter_map(|tenth| quantile(&sorted, f64::from(tenth) / 10.0)).collect();
    edges.push(f64::INFINITY);
    edges.dedup();
    let mut below = f64::NEG_INFINITY;
    let mut found = Vec::new();
    for edge in edges {
        let mut size = EffectiveSize::new(correlation, groups);
        let (mut n, mut positives) = (0, 0);
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        let rows = scores.iter().zip(labels.iter()).zip(groups.of());
        for ((score, label), group) in rows.filter(|row| *row.0.0 > below && *row.0.0 <= edge) {
            n += 1;
            positives += usize::from(*label);
            size.add(*group);
            (from, to) = (score.min(from), score.max(to));
        }
        below = edge;
        if n == 0 {
            continue;
        }
        let rate = positives as f64 / n as f64;
        let effective = size.get();
        let interval = wilson(rate * effective, effective, level);
        found.push(Decile { from, to, n, positives, rate, effective, interval });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Groups;

    #[test]
    fn deciles_keep_ties_together() {
        let mut scores = vec![0.1; 25];
        scores.extend((0..75).map(|i| 0.2 + f64::from(i) / 100.0));
        let labels: Vec<bool> = scores.iter().map(|score| *score > 0.5).collect();
        let groups = Groups::new(vec![None; 100]);
        let labelled = Labelled { scores: &scores, labels: &labels, groups: &groups };
        let found = deciles(&labelled, 0.95);
        assert_eq!((found[0].n, found[0].from, found[0].to), (25, 0.1, 0.1));
        assert_eq!(found.iter().map(|decile| decile.n).sum::<usize>(), 100);
        assert!(found.windows(2).all(|pair| pair[0].to < pair[1].from));
        assert_eq!(found.last().map(|decile| decile.rate), Some(1.0));
    }
}
