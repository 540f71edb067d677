//! Divides rows into five folds, without dividing a group.

use rand::seq::SliceRandom;

use crate::bootstrap::{Groups, generator};

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

#[cfg(test)]
mod tests {
    use super::*;

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
