//! Intervals of shares.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::calibration::Interval;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
