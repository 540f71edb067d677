//! The four dimensions of a trace, by the formulas of the KnowledgePulse protocol, computed in f64 in the order written;
//! and their weights, by task domain.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::trace::{Steps, Trace, quote};

/// The four dimensions, each in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dimensions {
    /// How varied and long the trace is:
    /// `min(1, uniqueTypes/4 * 0.5 + (errorRecoveries > 0 ? 0.3 : 0) + steps/20 * 0.2)`.
    pub complexity: f64,
    /// How far the trace is from earlier ones. See [`Novelty::value`](crate::Novelty::value).
    pub novelty: f64,
    /// Distinct tools relative to the number of steps: `min(1, uniqueTools / max(1, steps) * 3)`.
    pub tool_diversity: f64,
    /// How sure the agent is of its result: `confidence * (success ? 1 : 0.3)`.
    pub outcome_confidence: f64,
}

impl Dimensions {
    /// Measures `trace`. Novelty, which needs an embedding and a cache, comes from outside.
    pub fn of(trace: &Trace, novelty: f64) -> Self {
        let Steps { count, types, tools, recoveries, .. } = trace.steps();
        let (steps, types) = (count as f64, types as f64 / 4.0 * 0.5);
        let recovery = if recoveries > 0 { 0.3 } else { 0.0 };
        Self {
            complexity: (types + recovery + steps / 20.0 * 0.2).min(1.0),
            novelty,
            tool_diversity: (tools as f64 / steps.max(1.0) * 3.0).min(1.0),
            outcome_confidence: trace.confidence() * if trace.success() { 1.0 } else { 0.3 },
        }
    }
}

/// The weight of each dimension: not negative, with the sum 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names of the dimensions say it")]
pub struct Weights {
    pub complexity: f64,
    pub novelty: f64,
    pub tool_diversity: f64,
    pub outcome_confidence: f64,
}

/// The weights of one domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// A domain with weights of its own, else `default`.
    #[serde(rename = "profile")]
    pub domain: Cow<'static, str>,
    /// Its weights.
    pub weights: Weights,
}

/// The profile of every domain that has none of its own.
const DEFAULT: &str = "default";

/// The weights of the KnowledgePulse protocol.
const BUILT_IN: [(&str, Weights); 5] = [
    (DEFAULT, Weights::new([0.25, 0.35, 0.15, 0.25])),
    ("finance", Weights::new([0.20, 0.25, 0.10, 0.45])),
    ("code", Weights::new([0.20, 0.30, 0.30, 0.20])),
    ("medical", Weights::new([0.15, 0.20, 0.10, 0.55])),
    ("customer_service", Weights::new([0.20, 0.30, 0.20, 0.30])),
];

/// The weights of every domain: those of the KnowledgePulse protocol, some replaced or added. `default` always has
/// weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles(BTreeMap<Cow<'static, str>, Weights>);

impl Default for Profiles {
    fn default() -> Self {
        Self(BUILT_IN.map(|(domain, weights)| (domain.into(), weights)).into())
    }
}

impl Profiles {
    /// Returns the built-in profiles with `overrides`, which replace those of the same name or are added. If a name is
    /// repeated, the last one applies. Any string is a name; `default` applies to all other domains. `lib/options.js` checks
    /// the weights.
    pub fn with(overrides: impl IntoIterator<Item = (String, Weights)>) -> Self {
        let mut profiles = Self::default();
        profiles.0.extend(overrides.into_iter().map(|(domain, weights)| (domain.into(), weights)));
        profiles
    }

    /// Returns the profile of this domain by exact match, else that of `default`.
    pub fn for_domain(&self, domain: &str) -> Profile {
        let domain = if self.0.contains_key(domain) { domain } else { DEFAULT };
        let (domain, weights) = self.0.get_key_value(domain).expect("default has weights");
        Profile { domain: domain.clone(), weights: *weights }
    }

    /// Returns a note for people if a domain without its own weights resembles one that has them: ignoring case, one of
    /// its words begins with the first three quarters of the name.
    ///
    /// ```
    /// use knowledgepulse_scoring::Profiles;
    ///
    /// let hint = Profiles::default().hint("code_review").expect("a hint");
    /// assert_eq!(hint, r#"the domain "code_review" has the default weights; did you mean "code"?"#);
    /// assert_eq!(Profiles::default().hint("legal"), None);
    /// ```
    pub fn hint(&self, domain: &str) -> Option<String> {
        if self.0.contains_key(domain) {
            return None;
        }
        let mut before = ' ';
        let name = domain.char_indices().find_map(|(at, letter)| {
            let starts = !before.is_alphanumeric();
            before = letter;
            let is_like = |name: &&Cow<_>| *name != DEFAULT && begins_like(&domain[at..], name);
            self.0.keys().find(|name| starts && is_like(name))
        })?;
        let domain = quote(domain);
        Some(format!("the domain {domain} has the default weights; did you mean {name:?}?"))
    }
}

/// Returns whether a text begins with the first three quarters of a name, ignoring case and the kind of separators.
fn begins_like(text: &str, name: &str) -> bool {
    let count = name.len() - name.len() / 4;
    let separates = |byte: u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let is_same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (separates(a) && separates(b));
    count > 0 && text.len() >= count && text.bytes().zip(name.bytes()).take(count).all(is_same)
}

impl Weights {
    /// Returns the weights of complexity, novelty, tool diversity and outcome confidence.
    pub const fn new([complexity, novelty, tool_diversity, outcome_confidence]: [f64; 4]) -> Self {
        Self { complexity, novelty, tool_diversity, outcome_confidence }
    }

    /// Returns the four weights, in the order of [`Weights::new`].
    pub const fn parts(&self) -> [f64; 4] {
        [self.complexity, self.novelty, self.tool_diversity, self.outcome_confidence]
    }

    /// Returns `C*wC + N*wN + D*wD + O*wO`, added in this order and clamped to \[0, 1\], because the weights sum to 1
    /// only up to rounding.
    pub fn apply(&self, dimensions: &Dimensions) -> f64 {
        let sum = dimensions.complexity * self.complexity
            + dimensions.novelty * self.novelty
            + dimensions.tool_diversity * self.tool_diversity
            + dimensions.outcome_confidence * self.outcome_confidence;
        sum.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_sum_to_1() {
        for (domain, weights) in Profiles::default().0 {
            assert!((weights.parts().iter().sum::<f64>() - 1.0).abs() < 1e-12, "{domain}");
        }
    }

    #[test]
    fn hint_finds_what_nearly_names_a_profile() {
        for (domain, expected) in [
            ("code_review", Some("code")),
            ("code-review", Some("code")),
            ("Code", Some("code")),
            ("code ", Some("code")),
            ("coding", Some("code")),
            ("python.code", Some("code")),
            ("financial_analysis", Some("finance")),
            ("personal finances", Some("finance")),
            ("medical-imaging", Some("medical")),
            ("customer-service", Some("customer_service")),
            ("Customer Services", Some("customer_service")),
            ("code", None),
            ("default", None),
            ("decode", None),
            ("final", None),
            ("media", None),
            ("customer", None),
            ("ümlaut 👩‍🔬", None),
            ("", None),
        ] {
            let hint = Profiles::default().hint(domain);
            let name = hint.as_ref().and_then(|hint| hint.rsplit('"').nth(1));
            assert_eq!(name, expected, "{domain:?}: {hint:?}");
        }
        let own = Profiles::with([
            ("".into(), Weights::new([0.25; 4])),
            ("Ü".into(), Weights::new([0.25; 4])),
        ]);
        assert_eq!(own.hint("übung"), None, "a name without letters is like nothing");
    }

    #[test]
    fn with_replaces_and_adds() {
        let [first, second, third, fourth] =
            [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.25; 4]]
                .map(Weights::new);
        let overrides = [
            ("code", fourth),
            ("code", first),
            ("default", second),
            ("constructor", third),
            ("__proto__", fourth),
            ("", third),
        ];
        let overrides = overrides.map(|(domain, weights)| (domain.to_owned(), weights));
        let profiles = Profiles::with(overrides);
        for (domain, name, weights) in [
            ("code", "code", first),
            ("default", "default", second),
            ("unknown", "default", second),
            ("toString", "default", second),
            ("constructor", "constructor", third),
            ("__proto__", "__proto__", fourth),
            ("", "", third),
            ("finance", "finance", Profiles::default().for_domain("finance").weights),
        ] {
            let expected = Profile { domain: name.into(), weights };
            assert_eq!(profiles.for_domain(domain), expected, "{domain:?}");
        }
        assert_eq!(Profiles::with([]), Profiles::default());
    }
}
