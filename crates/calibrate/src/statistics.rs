//! Quantiles of values, intervals of shares, and how much the rows of a group resemble each other.

use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::{calibration::Interval, row::Row};

/// The groups of rows.
pub(crate) struct Groups {
    /// The number of the group of each row.
    pub(crate) of: Vec<u32>,
    /// How many there are.
    pub(crate) count: usize,
}

impl Groups {
    /// Numbers groups by their name. A row without a name is a group of its own.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut numbers = HashMap::new();
        let mut count = 0;
        let number = |name: Option<&'a str>| {
            let number = name.map_or(count, |name| *numbers.entry(name).or_insert(count));
            count = count.max(number + 1);
            number
        };
        let of = names.into_iter().map(number).collect();
        Self { of, count: count as usize }
    }

    /// Numbers the groups of rows.
    pub(crate) fn of_rows(rows: &[&Row]) -> Self {
        Self::new(rows.iter().map(|row| row.group.as_deref()))
    }
}

/// Returns the quantile `q`, in \[0, 1\], of values in ascending order: numpy's default, `linear`, which
/// is type 7 of Hyndman and Fan (1996). `None` for no values.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(low + (high - low) * (place - below as f64))
}

/// Returns `values` in ascending order.
pub(crate) fn ascending(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the interval between the quantiles that leave out `1 - level`, half on each side; `None` for no values.
pub(crate) fn central(values: Vec<f64>, level: f64) -> Option<Interval> {
    let (sorted, tail) = (ascending(values), (1.0 - level) / 2.0);
    Some(Interval { low: quantile(&sorted, tail)?, high: quantile(&sorted, 1.0 - tail)? })
}

/// Returns Wilson's score interval of a share of `successes` in `n`, without continuity correction, as
/// `proportion_confint(method="wilson")` of statsmodels does. `n` is positive, and need not be whole.
pub(crate) fn wilson(successes: f64, n: f64, level: f64) -> Interval {
    let z = Normal::standard().inverse_cdf(0.5 + level / 2.0);
    let share = (successes / n).clamp(0.0, 1.0);
    let centre = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    Interval {
        low: if share == 0.0 { 0.0 } else { ((centre - half) / scale).clamp(0.0, 1.0) },
        high: if share == 1.0 { 1.0 } else { ((centre + half) / scale).clamp(0.0, 1.0) },
    }
}

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
    fn groups_are_numbered_by_name() {
        let groups = Groups::new([Some("a"), None, Some("b"), Some("a"), None]);
        assert_eq!((&groups.of[..], groups.count), (&[0, 1, 2, 0, 3][..], 4));
    }

    #[test]
    fn quantile_interpolates_between_values() {
        let sorted = [0.1, 0.2, 0.4, 0.8];
        for (q, expected) in [(0.0, 0.1), (0.5, 0.3), (1.0, 0.8), (1.0 / 6.0, 0.15), (7.0, 0.8)] {
            let found = quantile(&sorted, q).unwrap();
            assert!((found - expected).abs() < 1e-15, "{q}: {found}");
        }
        assert_eq!((quantile(&[], 0.5), quantile(&[3.0], 0.9)), (None, Some(3.0)));
    }

    #[test]
    fn wilson_is_that_of_statsmodels() {
        let Interval { low, high } = wilson(8.0, 10.0, 0.95);
        assert!((low - 0.4901624).abs() < 1e-6 && (high - 0.9433178).abs() < 1e-6);
    }

    #[test]
    fn wilson_stays_within_0_and_1() {
        for (successes, n) in [(0.0, 5.0), (5.0, 5.0), (1.5, 2.5), (0.0, 1e-9)] {
            let Interval { low, high } = wilson(successes, n, 0.95);
            assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0, "{successes}/{n}");
        }
        assert_eq!(wilson(0.0, 5.0, 0.95).low, 0.0);
        assert_eq!(wilson(5.0, 5.0, 0.95).high, 1.0);
    }

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
