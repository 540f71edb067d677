//! Quantiles of values.

use crate::calibration::Interval;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_interpolates_between_values() {
        let sorted = [0.1, 0.2, 0.4, 0.8];
        for (q, expected) in [(0.0, 0.1), (0.5, 0.3), (1.0, 0.8), (1.0 / 6.0, 0.15), (7.0, 0.8)] {
            let found = quantile(&sorted, q).unwrap();
            assert!((found - expected).abs() < 1e-15, "{q}: {found}");
        }
        assert_eq!((quantile(&[], 0.5), quantile(&[3.0], 0.9)), (None, Some(3.0)));
    }
}
