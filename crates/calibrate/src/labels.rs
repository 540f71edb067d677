//! What the labels say of the scores, and whether they say anything but `success`.

use knowledgepulse_scoring::{overrides::Fired, weights::Weights};

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{Decile, Labels, Leakage},
    options::Options,
    quantiles::{ascending, quantile},
    roc::{Curves, Ranking},
    row::{Row, corrected},
    wilson::{EffectiveSize, intraclass_correlation, wilson},
};

/// The share of agreement from which labels are taken for `success`.
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

    pub(crate) fn positives(&self) -> usize {
        self.labels.iter().filter(|label| **label).count()
    }

    pub(crate) fn negatives(&self) -> usize {
        self.labels.len() - self.positives()
    }

    pub(crate) fn agreement(&self) -> Agreement {
        Agreement::of(self.labels.iter().copied().zip(self.rows.iter().map(|row| row.success)))
    }
}

/// Judges the scores by the labels; `None` unless there are both labels.
pub(crate) fn judge(
    labelled: &Labelled,
    options: &Options,
    bootstrap: &Bootstrap,
) -> Option<Labels> {
    let Labelled { rows, scores, labels, groups } = labelled;
    let curves = Ranking::new(scores, labels, groups.of()).curves(groups, bootstrap)?;
    let Curves { auc, average_precision, roc, roc_band, .. } = curves;
    let Curves { precision_recall, precision_recall_band, youden, best_f1, .. } = curves;
    let agreement = labelled.agreement();
    let auc_without_outcome = || {
        let score = |row: &&Row| {
            let profile = options.profiles.for_domain(&row.domain);
            corrected(&without_outcome(&profile.weights), &row.dimensions, fired(row, true))
        };
        let scores: Vec<f64> = rows.iter().map(score).collect();
        Ranking::new(&scores, labels, groups.of()).auc(groups, bootstrap)
    };
    Some(Labels {
        positives: labelled.positives(),
        negatives: labelled.negatives(),
        groups: groups.count(),
        intraclass_correlation: intraclass_correlation(labels, groups),
        auc,
        average_precision,
        roc,
        roc_band,
        precision_recall,
        precision_recall_band,
        deciles: deciles(labelled, bootstrap.level),
        youden,
        best_f1,
        leakage: Leakage {
            agreement: agreement.share,
            agreement_by_chance: agreement.by_chance,
            is_leak: agreement.is_leak(),
            auc_without_outcome: if agreement.is_leak() { auc_without_outcome() } else { None },
        },
    })
}

/// How often the labels of rows agree with `success`.
pub(crate) struct Agreement {
    pub(crate) share: f64,
    pub(crate) by_chance: f64,
}

impl Agreement {
    /// Takes pairs of a label and `success`. Without pairs, the shares are 0.
    fn of(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let (mut n, mut same, mut labels, mut successes) = (0.0, 0.0, 0.0, 0.0);
        for (label, success) in pairs {
            n += 1.0;
            same += f64::from(u8::from(label == success));
            labels += f64::from(u8::from(label));
            successes += f64::from(u8::from(success));
        }
        if n == 0.0 {
            return Self { share: 0.0, by_chance: 0.0 };
        }
        let (labels, successes) = (labels / n, successes / n);
        let by_chance = labels * successes + (1.0 - labels) * (1.0 - successes);
        Self { share: same / n, by_chance }
    }

    pub(crate) fn is_leak(&self) -> bool {
        self.share >= LEAK
    }
}

/// Returns the weights without outcomeConfidence, whose share goes to the others in proportion, or in
/// equal parts if they have no weight.
pub(crate) fn without_outcome(weights: &Weights) -> Weights {
    let rest = weights.complexity + weights.novelty + weights.tool_diversity;
    let scale = |weight: f64| if rest > 0.0 { weight / rest } else { 1.0 / 3.0 };
    Weights {
        complexity: scale(weights.complexity),
        novelty: scale(weights.novelty),
        tool_diversity: scale(weights.tool_diversity),
        outcome_confidence: 0.0,
    }
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
fn deciles(labelled: &Labelled, level: f64) -> Vec<Decile> {
    let Labelled { scores, labels, groups, .. } = labelled;
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
        let rows = scores.iter().zip(labels).zip(groups.of());
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

    #[test]
    fn agreement_counts_equal_pairs() {
        let found = Agreement::of([(true, true), (false, false), (true, false), (true, true)]);
        assert_eq!((found.share, found.by_chance), (0.75, 0.5));
        assert!(!found.is_leak() && !Agreement::of([]).is_leak());
    }

    #[test]
    fn without_outcome_keeps_proportions() {
        let weights = |c, n, d, o| Weights {
            complexity: c,
            novelty: n,
            tool_diversity: d,
            outcome_confidence: o,
        };
        assert_eq!(
            without_outcome(&weights(0.25, 0.125, 0.125, 0.5)),
            weights(0.5, 0.25, 0.25, 0.0)
        );
        let third = 1.0 / 3.0;
        assert_eq!(
            without_outcome(&weights(0.0, 0.0, 0.0, 1.0)),
            weights(third, third, third, 0.0)
        );
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
