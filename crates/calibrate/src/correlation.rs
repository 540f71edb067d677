//! How much the rows of a group resemble each other, and how many independent rows they are worth.

use crate::bootstrap::Groups;

/// Returns how similar the labels within a group are: the intraclass correlation by analysis of
/// variance, in \[0, 1\]. 0 if no group has two rows, or there is only one group.
pub(crate) fn intraclass_correlation(labels: &[bool], groups: &Groups) -> f64 {
    let mut sums = vec![(0.0, 0.0); groups.count];
    for (label, group) in labels.iter().zip(&groups.of) {
        let (n, positives) = &mut sums[*group as usize];
        *n += 1.0;
        *positives += f64::from(u8::from(*label));
    }
    let rows = labels.len() as f64;
    let count = groups.count as f64;
    if count < 2.0 || rows <= count {
        return 0.0;
    }
    let mean = sums.iter().map(|(_, positives)| positives).sum::<f64>() / rows;
    let squares = sums.iter().map(|(n, _)| n * n).sum::<f64>();
    let size = (rows - squares / rows) / (count - 1.0);
    let between = sums.iter().map(|(n, p)| n * (p / n - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let within = sums.iter().map(|(n, p)| p * (1.0 - p / n)).sum::<f64>() / (rows - count);
    let total = between + (size - 1.0) * within;
    if total > 0.0 { ((between - within) / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// The effective sample size of a growing set of rows: their number over Kish's design effect,
/// `1 + (m - 1) * correlation`, where `m` is the mean size of the group of a row.
pub(crate) struct EffectiveSize {
    correlation: f64,
    sizes: Vec<u32>,
    rows: f64,
    squares: f64,
}

impl EffectiveSize {
    pub(crate) fn new(correlation: f64, groups: &Groups) -> Self {
        Self { correlation, sizes: vec![0; groups.count], rows: 0.0, squares: 0.0 }
    }

    pub(crate) fn add(&mut self, group: u32) {
        let size = &mut self.sizes[group as usize];
        self.squares += f64::from(2 * *size + 1);
        *size += 1;
        self.rows += 1.0;
    }

    /// There must be a row.
    pub(crate) fn get(&self) -> f64 {
        self.rows / (1.0 + (self.squares / self.rows - 1.0) * self.correlation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_size_counts_equal_rows_of_a_group_once() {
        let names = ["a", "a", "a", "b", "b", "b", "c", "c", "c"];
        let groups = Groups::new(names.iter().map(|name| Some(*name)));
        let alike = [true, true, true, false, false, false, true, true, true];
        let mixed = [true, false, true, false, true, false, true, false, true];
        assert_eq!(intraclass_correlation(&alike, &groups), 1.0);
        assert_eq!(intraclass_correlation(&mixed, &groups), 0.0);
        for (correlation, expected) in [(1.0, 3.0), (0.0, 9.0), (0.5, 4.5)] {
            let mut size = EffectiveSize::new(correlation, &groups);
            groups.of.iter().for_each(|group| size.add(*group));
            assert_eq!(size.get(), expected);
        }
    }
}
