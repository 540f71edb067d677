//! Labels that are `success` under another name: the score contains it, so its AUC would be praise of
//! itself.

use std::borrow::Cow;

use knowledgepulse_scoring::weights::Weights;

use crate::row::Row;

/// From which share of agreement on the labels are taken for `success`.
pub(crate) const LEAK: f64 = 0.95;

/// The override that fires with `success` alone.
const WITH_SUCCESS: &str = "error-recovery";

/// How far the labels of rows agree with `success`.
pub(crate) struct Agreement {
    pub(crate) share: f64,
    pub(crate) by_chance: f64,
}

impl Agreement {
    /// Of labels and `success`; nothing agrees where there are none.
    pub(crate) fn of(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
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

/// Returns the weights without outcomeConfidence, whose share the others take in proportion; equal ones
/// where the others have none.
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

/// Returns the row without the override that contains `success`.
pub(crate) fn without_success(row: &Row) -> Cow<'_, Row> {
    if !row.overrides.iter().any(|name| name == WITH_SUCCESS) {
        return Cow::Borrowed(row);
    }
    let mut row = row.clone();
    row.overrides.retain(|name| name != WITH_SUCCESS);
    Cow::Owned(row)
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
}
