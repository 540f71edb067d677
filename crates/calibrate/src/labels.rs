//! Statistics of scores and labels, and whether the labels merely repeat `success`.

use knowledgepulse_scoring::{score::Fired, weights::Weights};

use crate::{
    bootstrap::Bootstrap,
    calibration::{Decile, Leakage},
    ranking::Ranking,
    row::Row,
    statistics::{EffectiveSize, Groups, intraclass_correlation, quantile, wilson},
};

/// The share of agreement from which labels count as `success`.
const LEAK: f64 = 0.95;

/// The only override that depends on `success`.
const WITH_SUCCESS: &str = "error-recovery";

/// Rows with a label: the score, the label and the group of each.
pub(crate) struct Labelled<'a> {
    pub(crate) rows: Vec<&'a Row>,
    pub(crate) scores: Vec<f64>,
    pub(crate) labels: Vec<bool>,
    pub(crate) groups: Groups,
}

impl<'a> Labelled<'a> {
    /// Takes the rows that have a label.
    pub(crate) fn of(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let rows: Vec<&Row> = rows.into_iter().filter(|row| row.label.is_some()).collect();
        Self {
            scores: rows.iter().map(|row| row.score).collect(),
            labels: rows.iter().map(|row| row.label == Some(true)).collect(),
            groups: Groups::of_rows(&rows),
            rows,
        }
    }

    /// Ranks the rows by `scores`.
    pub(crate) fn ranking(&self, scores: impl IntoIterator<Item = f64>) -> Ranking {
        let rows = scores.into_iter().zip(&self.labels).zip(&self.groups.of);
        Ranking::new(rows.map(|((score, label), group)| (score, *label, *group)))
    }

    pub(crate) fn positives(&self) -> usize {
        self.labels.iter().filter(|label| **label).count()
    }

    pub(crate) fn negatives(&self) -> usize {
        self.labels.len() - self.positives()
    }

    /// Compares the labels with `success`.
    pub(crate) fn leakage(&self) -> Leakage {
        let share = |is: fn(bool, bool) -> bool| {
            let pairs = self.rows.iter().zip(&self.labels);
            let count = pairs.filter(|(row, label)| is(**label, row.success)).count();
            count as f64 / self.rows.len().max(1) as f64
        };
        let [labels, successes] = [share(|label, _| label), share(|_, success| success)];
        let agreement = share(|label, success| label == success);
        Leakage {
            agreement,
            agreement_by_chance: labels * successes + (1.0 - labels) * (1.0 - successes),
            is_leak: agreement >= LEAK,
            auc_without_outcome: None,
        }
    }
}

/// Judges whether the labels merely repeat `success`.
pub(crate) fn judge_leakage(labelled: &Labelled, bootstrap: &Bootstrap) -> Leakage {
    let mut leakage = labelled.leakage();
    if leakage.is_leak {
        let score = |row: &&Row| {
            let profile = bootstrap.options.profiles.for_domain(&row.domain);
            fired(row, true).correct(without_outcome(&profile.weights).apply(&row.dimensions))
        };
        let ranking = labelled.ranking(labelled.rows.iter().map(score));
        leakage.auc_without_outcome = ranking.auc(&labelled.groups, bootstrap);
    }
    leakage
}

/// Returns the weights without outcomeConfidence, whose share goes to the others in proportion, or in
/// equal parts if they have no weight.
pub(crate) fn without_outcome(weights: &Weights) -> Weights {
    let [complexity, novelty, tools, _] = weights.parts();
    let rest = complexity + novelty + tools;
    let scale = |weight: f64| if rest > 0.0 { weight / rest } else { 1.0 / 3.0 };
    Weights::new([scale(complexity), scale(novelty), scale(tools), 0.0])
}

/// Returns the rules that fired for a row, which has been checked; without the one that depends on
/// `success` if `without_outcome` is set.
pub(crate) fn fired(row: &Row, without_outcome: bool) -> Fired {
    let names = row.overrides.iter().map(String::as_str);
    let kept = names.filter(|name| !without_outcome || *name != WITH_SUCCESS);
    Fired::named(kept).unwrap_or_default()
}

/// Returns the label rate by decile, from the lowest; deciles without rows are left out. A decile ends
/// with the score that is its upper quantile, as with `qcut` of pandas, so equal scores are in one.
pub(crate) fn deciles(labelled: &Labelled, level: f64) -> Vec<Decile> {
    let Labelled { scores, labels, groups, .. } = labelled;
    let correlation = intraclass_correlation(labels, groups);
    let ranking = labelled.ranking(scores.iter().copied());
    let sorted: Vec<f64> = ranking.rows.iter().map(|row| row.0).collect();
    let edges = (1..=9).filter_map(|tenth| quantile(&sorted, f64::from(tenth) / 10.0));
    let mut rest = &ranking.rows[..];
    let decile = |edge| {
        let (rows, above) = rest.split_at(rest.partition_point(|row| row.0 <= edge));
        rest = above;
        let (from, to) = (rows.first()?.0, rows.last()?.0);
        let mut size = EffectiveSize::new(correlation, groups);
        rows.iter().for_each(|(_, _, group)| size.add(*group));
        let (n, positives) = (rows.len(), rows.iter().filter(|row| row.1).count());
        let (rate, effective) = (positives as f64 / n as f64, size.get());
        let interval = wilson(rate * effective, effective, level);
        Some(Decile { from, to, n, positives, rate, effective, interval })
    };
    edges.chain([f64::INFINITY]).filter_map(decile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_outcome_keeps_proportions() {
        let third = 1.0 / 3.0;
        for (all, expected) in [
            ([0.25, 0.125, 0.125, 0.5], [0.5, 0.25, 0.25, 0.0]),
            ([0.0, 0.0, 0.0, 1.0], [third, third, third, 0.0]),
        ] {
            assert_eq!(without_outcome(&Weights::new(all)).parts(), expected);
        }
    }

    #[test]
    fn deciles_keep_ties_together() {
        let mut scores = vec![0.1; 25];
        scores.extend((0..75).map(|i| 0.2 + f64::from(i) / 100.0));
        let labels = scores.iter().map(|score| *score > 0.5).collect();
        let groups = Groups::new(vec![None; 100]);
        let labelled = Labelled { rows: Vec::new(), scores, labels, groups };
        let found = deciles(&labelled, 0.95);
        assert_eq!((found[0].n, found[0].from, found[0].to), (25, 0.1, 0.1));
        assert_eq!(found.iter().map(|decile| decile.n).sum::<usize>(), 100);
        assert!(found.windows(2).all(|pair| pair[0].to < pair[1].from));
        assert_eq!(found.last().map(|decile| decile.rate), Some(1.0));
    }
}
