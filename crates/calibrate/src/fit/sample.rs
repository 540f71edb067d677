//! Labelled rows, arranged so that the AUC of many weights is found fast.

use knowledgepulse_scoring::{dimensions::Dimensions, overrides::Fired, weights::Weights};
use knowledgepulse_workers::CancelToken;

use crate::{
    bootstrap::{Bootstrap, Groups},
    calibration::{Estimate, Interval},
    labels::{Labelled, fired},
};

use super::folds::FOLDS;

/// Pairs of a positive and a negative row in each fold that the scores put in the right order, counted
/// twice; ties count once.
pub(super) type Concordance = [u64; FOLDS];

/// The factor by which intervals over held-out folds are widened. The bootstrap treats folds as
/// independent, although their weights were chosen by common rows:
/// `sqrt(1 + folds * held out / kept)`, the correction of Nadeau and Bengio (2003). Without it, one in
/// fourteen fits to random labels was "better".
const OVERLAP: f64 = 1.5;

/// Labelled rows in order of fold and label.
pub(super) struct Sample<'a> {
    rows: Vec<Scored>,
    groups: &'a Groups,
    /// That of the [`Bootstrap`].
    cancel: &'a CancelToken,
    /// For each fold its start, the start of its positive rows, and its end.
    bounds: [[usize; 3]; FOLDS],
}

struct Scored {
    dimensions: Dimensions,
    fired: Fired,
    group: u32,
}

impl<'a> Sample<'a> {
    /// `folds` has the fold of each row. `without_outcome` leaves out the rule that depends on `success`.
    pub(super) fn new(
        labelled: &'a Labelled,
        without_outcome: bool,
        folds: &[u8],
        cancel: &'a CancelToken,
    ) -> Self {
        let Labelled { rows, labels, groups, .. } = labelled;
        let key = |place: &usize| (folds[*place], labels[*place]);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(key);
        let start = |key_of| order.partition_point(|place| key(place) < key_of);
        let bounds = std::array::from_fn(|fold| {
            let fold = fold as u8;
            [start((fold, false)), start((fold, true)), start((fold + 1, false))]
        });
        let scored = order.iter().map(|place| Scored {
            dimensions: rows[*place].dimensions,
            fired: fired(rows[*place], without_outcome),
            group: groups.of[*place],
        });
        Self { rows: scored.collect(), groups, cancel, bounds }
    }

    fn pairs(&self, fold: usize) -> f64 {
        let [start, middle, end] = self.bounds[fold];
        (middle - start) as f64 * (end - middle) as f64
    }

    /// Returns the scores and rows of a fold in ascending order of the scores.
    fn ranked(&self, fold: usize, weights: &Weights) -> Vec<(f64, usize)> {
        let [start, _, end] = self.bounds[fold];
        let scored = (start..end).map(|row| {
            let Scored { dimensions, fired, .. } = &self.rows[row];
            (fired.correct(weights.apply(dimensions)), row)
        });
        let mut ranked: Vec<_> = scored.collect();
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        ranked
    }

    /// Returns how well `weights` order the rows of each fold.
    pub(super) fn concordance(&self, weights: &Weights) -> Concordance {
        if self.cancel.is_cancelled() {
            return [0; FOLDS];
        }
        std::array::from_fn(|fold| self.concordant(fold, &self.ranked(fold, weights), |_| 1).0)
    }

    /// Returns the concordance of the ranked rows of a fold, and the number of all pairs. A row counts
    /// as often as `weight` says of its group.
    fn concordant(
        &self,
        fold: usize,
        ranked: &[(f64, usize)],
        weight: impl Fn(u32) -> u32,
    ) -> (u64, u64) {
        let [_, middle, _] = self.bounds[fold];
        let (mut twice, mut positives, mut negatives) = (0, 0, 0);
        for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
            let (mut positive, mut negative) = (0, 0);
            for (_, row) in tied {
                let class = if *row >= middle { &mut positive } else { &mut negative };
                *class += u64::from(weight(self.rows[*row].group));
            }
            twice += positive * (2 * negatives + negative);
            positives += positive;
            negatives += negative;
        }
        (twice, positives * negatives)
    }

    /// Returns the AUC over the pairs within each of `folds`.
    pub(super) fn auc(&self, concordance: &Concordance, folds: [bool; FOLDS]) -> f64 {
        let (mut twice, mut pairs) = (0.0, 0.0);
        for fold in (0..FOLDS).filter(|fold| folds[*fold]) {
            twice += concordance[fold] as f64;
            pairs += self.pairs(fold);
        }
        if pairs > 0.0 { twice / (2.0 * pairs) } else { 0.5 }
    }

    /// Returns by how much the rows of each group raise the AUC over `folds`: the structural components of
    /// DeLong et al. (1988), summed by cluster as in Obuchowski (1997). The sum of their squares, or of
    /// the squares of differences, estimates the variance.
    pub(super) fn components(&self, weights: &Weights, folds: [bool; FOLDS]) -> Vec<f64> {
        let mut of_group = vec![0.0; self.groups.count];
        if self.cancel.is_cancelled() {
            return of_group;
        }
        let pairs: f64 = (0..FOLDS).filter(|fold| folds[*fold]).map(|fold| self.pairs(fold)).sum();
        for fold in (0..FOLDS).filter(|fold| folds[*fold]) {
            let [start, middle, end] = self.bounds[fold];
            let [negatives, positives] = [(middle - start) as f64, (end - middle) as f64];
            let mut below = [0.0, 0.0];
            let mut won = Vec::new();
            let mut all = 0.0;
            for tied in self.ranked(fold, weights).chunk_by(|a, b| a.0 == b.0) {
                let positive = tied.iter().filter(|row| row.1 >= middle).count() as f64;
                let negative = tied.len() as f64 - positive;
                for (_, row) in tied {
                    let is_positive = *row >= middle;
                    let value = if is_positive {
                        below[0] + negative / 2.0
                    } else {
                        positives - below[1] - positive / 2.0
                    };
                    all += if is_positive { value } else { 0.0 };
                    won.push((*row, value));
                }
                below = [below[0] + negative, below[1] + positive];
            }
            if negatives == 0.0 || positives == 0.0 {
                continue;
            }
            let auc = all / (negatives * positives);
            for (row, value) in won {
                let others = if row >= middle { negatives } else { positives };
                of_group[self.rows[row].group as usize] += (value - others * auc) / pairs;
            }
        }
        of_group
    }

    /// Compares weights on held-out folds: `first[i]` and `second[i]` score fold `i`. Returns the AUC of
    /// `first` over all folds, and its difference to the AUC of `second`, with intervals by bootstrap of
    /// groups, widened by [`OVERLAP`].
    pub(super) fn compare(
        &self,
        first: &[Weights; FOLDS],
        second: &[Weights; FOLDS],
        bootstrap: &Bootstrap,
    ) -> (Estimate, Estimate) {
        let [first, second] = [first, second]
            .map(|weights| std::array::from_fn(|fold| self.ranked(fold, &weights[fold])));
        let (mut aucs, mut differences) = (Vec::new(), Vec::new());
        bootstrap.draw(self.groups, |counts| {
            let weight = |group| counts[group as usize];
            if let (Some(a), Some(b)) = (self.area(&first, weight), self.area(&second, weight)) {
                aucs.push(a);
                differences.push(a - b);
            }
        });
        let value = self.area(&first, |_| 1).unwrap_or(0.5);
        let difference = value - self.area(&second, |_| 1).unwrap_or(0.5);
        (
            widen(bootstrap.estimate(value, aucs, self.groups), 0.0),
            widen(bootstrap.estimate(difference, differences, self.groups), -1.0),
        )
    }

    /// The AUC over the pairs within folds. A row counts as often as `weight` says of its group.
    fn area(
        &self,
        folds: &[Vec<(f64, usize)>; FOLDS],
        weight: impl Fn(u32) -> u32 + Copy,
    ) -> Option<f64> {
        let (mut twice, mut pairs) = (0, 0);
        for (fold, ranked) in folds.iter().enumerate() {
            let (of_fold, all) = self.concordant(fold, ranked, weight);
            twice += of_fold;
            pairs += all;
        }
        (pairs > 0).then(|| twice as f64 / (2.0 * pairs as f64))
    }
}

/// Widens the interval by [`OVERLAP`] around the value, within `least` and 1.
fn widen(estimate: Estimate, least: f64) -> Estimate {
    let Estimate { value, interval } = estimate;
    let away = |end: f64| (value + (end - value) * OVERLAP).clamp(least, 1.0);
    let interval =
        interval.map(|Interval { low, high }| Interval { low: away(low), high: away(high) });
    Estimate { value, interval }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::bootstrap::generator;

    const ONE: Weights = Weights::new([1.0, 0.0, 0.0, 0.0]);
    const OTHER: Weights = Weights { complexity: 0.5, novelty: 0.5, ..ONE };

    /// Rows in groups of four, alike in their labels and in their first dimension.
    fn sample<'a>(groups: &'a Groups, cancel: &'a CancelToken) -> Sample<'a> {
        let mut random = generator(1);
        let mut bounds = [[0; 3]; FOLDS];
        let mut rows = Vec::new();
        let bias: Vec<f64> = (0..groups.count).map(|_| random.random_range(-0.2..0.2)).collect();
        for (fold, bounds) in bounds.iter_mut().enumerate() {
            let middle = fold * 200 + 90;
            *bounds = [fold * 200, middle, (fold + 1) * 200];
            for place in fold * 200..(fold + 1) * 200 {
                let group = groups.of[place];
                let mean = if place >= middle { 0.5 } else { 0.4 } + bias[group as usize];
                let mut value = || mean + random.random_range(-0.2..0.2);
                let (complexity, novelty) = (value(), value());
                let dimensions = Dimensions {
                    complexity,
                    novelty,
                    tool_diversity: 0.0,
                    outcome_confidence: 0.0,
                };
                rows.push(Scored { dimensions, fired: Fired::default(), group });
            }
        }
        Sample { rows, groups, cancel, bounds }
    }

    #[test]
    fn components_give_the_standard_error_of_the_bootstrap() {
        // The first rows of each label in a fold are a group, then the next.
        let names: Vec<_> = (0..1000).map(|i| format!("{}:{}", i / 200, i % 200 / 4)).collect();
        let groups = Groups::new(names.iter().map(|name| Some(&**name)));
        let cancel = &CancelToken::default();
        let sample = sample(&groups, cancel);
        let all = [true; FOLDS];
        let [one, other] = [ONE, OTHER].map(|weights| sample.components(&weights, all));
        assert!(one.iter().sum::<f64>().abs() < 1e-9);

        let level = 0.682_689_492;
        let bootstrap = Bootstrap { replicates: 4000, level, seed: 0, cancel };
        let (auc, difference) = sample.compare(&[ONE; FOLDS], &[OTHER; FOLDS], &bootstrap);
        assert_eq!(auc.value, sample.auc(&sample.concordance(&ONE), all));
        let subtracted: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
        for (components, estimate) in [(one, auc), (subtracted, difference)] {
            let error = components.iter().map(|part| part * part).sum::<f64>().sqrt();
            let interval = estimate.interval.unwrap();
            let bootstrapped = (interval.high - interval.low) / 2.0 / OVERLAP;
            assert!((error / bootstrapped - 1.0).abs() < 0.08, "{error} {bootstrapped}");
        }
    }
}
