//! Labelled rows in five folds, none of which has a part of a group, arranged so that the AUC of many weights is found
//! fast.

use knowledgepulse_scoring::{
    score::Fired,
    weights::{Dimensions, Weights},
};
use rand::seq::SliceRandom;

use crate::{
    bootstrap::{Bootstrap, generator},
    calibration::{Estimate, Interval},
    labels::{Labelled, fired},
    ranking::{Ranking, area},
    statistics::Groups,
};

pub(super) const FOLDS: usize = 5;

/// Returns the fold of each row. Groups are assigned from the largest to the smallest, in random order
/// among equal ones, each to the fold that has the fewest rows of its labels.
pub(super) fn assign(labels: &[bool], groups: &Groups, seed: u64) -> Vec<u8> {
    // Negative and positive rows of each group.
    let mut sizes = vec![[0.0_f64; 2]; groups.count];
    let mut totals = [1.0_f64; 2];
    for (label, group) in labels.iter().zip(&groups.of) {
        sizes[*group as usize][usize::from(*label)] += 1.0;
        totals[usize::from(*label)] += 1.0;
    }
    let mut order: Vec<usize> = (0..groups.count).collect();
    order.shuffle(&mut generator(seed));
    order.sort_by(|a, b| (sizes[*b][0] + sizes[*b][1]).total_cmp(&(sizes[*a][0] + sizes[*a][1])));

    let mut filled = [[0.0_f64; 2]; FOLDS];
    let mut of_group = vec![0_u8; groups.count];
    for group in order {
        let size = sizes[group];
        // The growth of the sum of squared shares over folds.
        let growth = |fold: &[f64; 2]| -> f64 {
            let grown = |class: usize| (2.0 * fold[class] + size[class]) * size[class];
            grown(0) / (totals[0] * totals[0]) + grown(1) / (totals[1] * totals[1])
        };
        let folds = filled.iter().map(growth).zip(0_u8..);
        let Some((_, fold)) = folds.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        of_group[group] = fold;
        for (filled, size) in filled[usize::from(fold)].iter_mut().zip(size) {
            *filled += size;
        }
    }
    groups.of.iter().map(|group| of_group[*group as usize]).collect()
}

/// Pairs of a positive and a negative row in each fold that the scores put in the right order, counted
/// twice; ties count once.
pub(super) type Concordance = [u64; FOLDS];

/// The factor by which intervals over held-out folds are widened. The bootstrap treats folds as
/// independent, although their weights were chosen by common rows:
/// `sqrt(1 + folds * held out / kept)`, the correction of Nadeau and Bengio (2003). Without it, one in
/// fourteen fits to random labels was "better".
const OVERLAP: f64 = 1.5;

/// Labelled rows by fold.
pub(super) struct Sample<'a> {
    folds: [Fold; FOLDS],
    groups: &'a Groups,
    bootstrap: &'a Bootstrap<'a>,
}

/// The rows of a fold, the negative ones first.
#[derive(Default)]
struct Fold {
    /// The dimensions, the rules that fired, the label and the group of each row.
    rows: Vec<(Dimensions, Fired, bool, u32)>,
    /// The numbers of negative and positive rows.
    classes: [f64; 2],
}

impl Fold {
    fn push(&mut self, row: (Dimensions, Fired), label: bool, group: u32) {
        self.rows.push((row.0, row.1, label, group));
        self.classes[usize::from(label)] += 1.0;
    }

    fn pairs(&self) -> f64 {
        self.classes[0] * self.classes[1]
    }

    fn ranked(&self, weights: &Weights) -> Ranking {
        Ranking::new(self.rows.iter().map(|(dimensions, fired, label, group)| {
            (fired.correct(weights.apply(dimensions)), *label, *group)
        }))
    }
}

impl<'a> Sample<'a> {
    /// `folds` has the fold of each row. `without_outcome` leaves out the rule that depends on `success`.
    pub(super) fn new(
        labelled: &'a Labelled,
        without_outcome: bool,
        folds: &[u8],
        bootstrap: &'a Bootstrap,
    ) -> Self {
        let Labelled { rows, labels, groups, .. } = labelled;
        let mut sample = Self { folds: Default::default(), groups, bootstrap };
        for class in [false, true] {
            for place in (0..rows.len()).filter(|place| labels[*place] == class) {
                let row = (rows[place].dimensions, fired(rows[place], without_outcome));
                sample.folds[usize::from(folds[place])].push(row, class, groups.of[place]);
            }
        }
        sample
    }

    /// Returns how well `weights` order the rows of each fold.
    pub(super) fn concordance(&self, weights: &Weights) -> Concordance {
        if self.bootstrap.cancel.is_cancelled() {
            return [0; FOLDS];
        }
        self.folds.each_ref().map(|fold| fold.ranked(weights).concordance(|_| 1)[0])
    }

    /// Returns all folds but the one that is held out, with their numbers.
    fn kept(&self, held_out: Option<usize>) -> impl Iterator<Item = (usize, &Fold)> {
        self.folds.iter().enumerate().filter(move |(index, _)| Some(*index) != held_out)
    }

    /// Returns the AUC over the pairs within each fold that is not held out.
    pub(super) fn auc(&self, concordance: &Concordance, held_out: Option<usize>) -> f64 {
        let (mut twice, mut pairs) = (0.0, 0.0);
        for (index, fold) in self.kept(held_out) {
            twice += concordance[index] as f64;
            pairs += fold.pairs();
        }
        if pairs > 0.0 { twice / (2.0 * pairs) } else { 0.5 }
    }

    /// Returns the contribution of the rows of each group to [`Self::auc`]: the structural components of DeLong et
    /// al. (1988), summed by cluster as in Obuchowski (1997). The sum of their squares, or of the squares of
    /// differences, estimates the variance. `concordance` must be the result of [`Self::concordance`] for `weights`.
    pub(super) fn components(
        &self,
        weights: &Weights,
        concordance: &Concordance,
        held_out: Option<usize>,
    ) -> Vec<f64> {
        let mut of_group = vec![0.0; self.groups.count];
        if self.bootstrap.cancel.is_cancelled() {
            return of_group;
        }
        let pairs: f64 = self.kept(held_out).map(|(_, fold)| fold.pairs()).sum();
        for (index, fold) in self.kept(held_out).filter(|(_, fold)| fold.pairs() > 0.0) {
            let auc = concordance[index] as f64 / (2.0 * fold.pairs());
            let [negatives, positives] = fold.classes;
            let mut below = [0.0, 0.0];
            for tied in fold.ranked(weights).ties() {
                let positive = tied.iter().filter(|row| row.1).count() as f64;
                let negative = tied.len() as f64 - positive;
                for (_, is_positive, group) in tied {
                    let (won, others) = if *is_positive {
                        (below[0] + negative / 2.0, negatives)
                    } else {
                        (positives - below[1] - positive / 2.0, positives)
                    };
                    of_group[*group as usize] += (won - others * auc) / pairs;
                }
                below = [below[0] + negative, below[1] + positive];
            }
        }
        of_group
    }

    /// Compares weights on held-out folds: `first[i]` scores fold `i`, and `second` scores all of them. Returns the
    /// AUC of `first` over all folds, and its difference to the AUC of `second`, with intervals by bootstrap of
    /// groups, widened by [`OVERLAP`] around the value, and clamped to the possible range.
    pub(super) fn compare(&self, first: [Weights; FOLDS], second: Weights) -> (Estimate, Estimate) {
        let [first, second] = [first, [second; FOLDS]].map(|weights| -> [Ranking; FOLDS] {
            std::array::from_fn(|fold| self.folds[fold].ranked(&weights[fold]))
        });
        let (mut aucs, mut differences) = (Vec::new(), Vec::new());
        self.bootstrap.draw(self.groups, |counts| {
            let weight = |group| counts[group as usize];
            if let (Some(a), Some(b)) = (area_of(&first, weight), area_of(&second, weight)) {
                aucs.push(a);
                differences.push(a - b);
            }
        });
        let value = area_of(&first, |_| 1).unwrap_or(0.5);
        let difference = value - area_of(&second, |_| 1).unwrap_or(0.5);
        let estimate = |value: f64, replicates, least| {
            let away = |end: f64| (value + (end - value) * OVERLAP).clamp(least, 1.0);
            let widen = |of: Interval| Interval { low: away(of.low), high: away(of.high) };
            let Estimate { interval, .. } = self.bootstrap.estimate(value, replicates, self.groups);
            Estimate { value, interval: interval.map(widen) }
        };
        (estimate(value, aucs, 0.0), estimate(difference, differences, -1.0))
    }
}

/// The AUC over the pairs within folds. A row counts as often as `weight` says of its group.
fn area_of(folds: &[Ranking], weight: impl Fn(u32) -> u32 + Copy) -> Option<f64> {
    let each = folds.iter().map(|fold| fold.concordance(weight));
    area(each.fold([0, 0], |sum, found| [sum[0] + found[0], sum[1] + found[1]]))
}

#[cfg(test)]
mod tests {
    use knowledgepulse_workers::CancelToken;
    use rand::RngExt;

    use super::*;
    use crate::options::Options;

    const ONE: Weights = Weights::new([1.0, 0.0, 0.0, 0.0]);
    const OTHER: Weights = Weights { complexity: 0.5, novelty: 0.5, ..ONE };

    /// Rows in groups of four, alike in their labels and in their first dimension.
    fn sample<'a>(groups: &'a Groups, bootstrap: &'a Bootstrap) -> Sample<'a> {
        let mut random = generator(1);
        let mut folds: [Fold; FOLDS] = Default::default();
        let bias: Vec<f64> = (0..groups.count).map(|_| random.random_range(-0.2..0.2)).collect();
        for (place, group) in groups.of.iter().enumerate() {
            let is_positive = place % 200 >= 90;
            let mean = if is_positive { 0.5 } else { 0.4 } + bias[*group as usize];
            let mut value = || mean + random.random_range(-0.2..0.2);
            let (complexity, novelty) = (value(), value());
            let dimensions =
                Dimensions { complexity, novelty, tool_diversity: 0.0, outcome_confidence: 0.0 };
            folds[place / 200].push((dimensions, Fired::default()), is_positive, *group);
        }
        Sample { folds, groups, bootstrap }
    }

    #[test]
    fn components_give_the_standard_error_of_the_bootstrap() {
        // The first rows of each label in a fold are a group, then the next.
        let names: Vec<_> = (0..1000).map(|i| format!("{}:{}", i / 200, i % 200 / 4)).collect();
        let groups = Groups::new(names.iter().map(|name| Some(&**name)));
        let options = &Options { level: 0.682_689_492, replicates: 4000, ..Options::default() };
        let bootstrap = Bootstrap { options, cancel: &CancelToken::default() };
        let sample = sample(&groups, &bootstrap);
        let [one, other] = [ONE, OTHER]
            .map(|weights| sample.components(&weights, &sample.concordance(&weights), None));
        assert!(one.iter().sum::<f64>().abs() < 1e-9);

        let (auc, difference) = sample.compare([ONE; FOLDS], OTHER);
        assert_eq!(auc.value, sample.auc(&sample.concordance(&ONE), None));
        let subtracted: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
        for (components, estimate) in [(one, auc), (subtracted, difference)] {
            let error = components.iter().map(|part| part * part).sum::<f64>().sqrt();
            let interval = estimate.interval.unwrap();
            let bootstrapped = (interval.high - interval.low) / 2.0 / OVERLAP;
            assert!((error / bootstrapped - 1.0).abs() < 0.08, "{error} {bootstrapped}");
        }
    }

    #[test]
    fn assign_divides_no_group_and_balances_labels() {
        let names: Vec<String> = (0..500).map(|i| format!("g{}", i * i % 97)).collect();
        let groups = Groups::new(names.iter().map(|name| Some(&**name)));
        let labels: Vec<bool> = (0..500).map(|i| i % 5 == 0).collect();
        let folds = assign(&labels, &groups, 1);
        for (a, b) in (0..500).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert!(names[a] != names[b] || folds[a] == folds[b]);
        }
        for fold in 0..5 {
            let of = |label| (0..500).filter(|i| folds[*i] == fold && labels[*i] == label).count();
            assert!((15..=25).contains(&of(true)), "{fold}: {}", of(true));
            assert!((65..=95).contains(&of(false)), "{fold}: {}", of(false));
        }
        assert_eq!(folds, assign(&labels, &groups, 1));
    }
}
