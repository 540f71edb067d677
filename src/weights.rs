//! How much each dimension counts, by task domain.

use crate::dimensions::Dimensions;

/// The weight of each dimension: non-negative, 1 in sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub complexity: f64,
    pub novelty: f64,
    pub tool_diversity: f64,
    pub outcome_confidence: f64,
}

/// The weights of one domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    pub domain: &'static str,
    pub weights: Weights,
}

const fn profile(domain: &'static str, [c, n, d, o]: [f64; 4]) -> Profile {
    let weights = Weights { complexity: c, novelty: n, tool_diversity: d, outcome_confidence: o };
    Profile { domain, weights }
}

/// The profile of every domain that has none of its own.
pub const DEFAULT_PROFILE: Profile = profile("default", [0.25, 0.35, 0.15, 0.25]);

/// The profiles of the KnowledgePulse protocol.
pub const PROFILES: [Profile; 5] = [
    DEFAULT_PROFILE,
    profile("finance", [0.20, 0.25, 0.10, 0.45]),
    profile("code", [0.20, 0.30, 0.30, 0.20]),
    profile("medical", [0.15, 0.20, 0.10, 0.55]),
    profile("customer_service", [0.20, 0.30, 0.20, 0.30]),
];

impl Profile {
    /// The profile of exactly this domain, else [`DEFAULT_PROFILE`].
    pub fn for_domain(domain: &str) -> Self {
        PROFILES.into_iter().find(|profile| profile.domain == domain).unwrap_or(DEFAULT_PROFILE)
    }
}

impl Weights {
    /// `C*wC + N*wN + D*wD + O*wO`, added in this order.
    pub fn apply(&self, dimensions: &Dimensions) -> f64 {
        dimensions.complexity * self.complexity
            + dimensions.novelty * self.novelty
            + dimensions.tool_diversity * self.tool_diversity
            + dimensions.outcome_confidence * self.outcome_confidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_non_negative_and_sums_to_one() {
        for Profile { domain, weights: w } in PROFILES {
            let all = [w.complexity, w.novelty, w.tool_diversity, w.outcome_confidence];
            assert!(all.iter().all(|weight| *weight >= 0.0), "{domain}");
            assert!((all.iter().sum::<f64>() - 1.0).abs() <= 1e-9, "{domain}");
        }
    }

    #[test]
    fn domains_match_exactly() {
        for (domain, expected) in [
            ("code", "code"),
            ("customer_service", "customer_service"),
            ("Code", "default"),
            ("code-review", "default"),
            ("code ", "default"),
            ("", "default"),
            ("constructor", "default"),
            ("__proto__", "default"),
        ] {
            assert_eq!(Profile::for_domain(domain).domain, expected, "domain {domain:?}");
        }
    }
}
