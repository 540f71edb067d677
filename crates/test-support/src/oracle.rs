//! Computes the score of a trace from its JSON by the specification, independently of the engine.

use std::collections::{HashMap, HashSet};

use knowledgepulse_scoring::Score;
use serde_json::Value;

/// The weights of a domain, in the order of the formula: complexity, novelty, tool diversity,
/// outcome confidence.
pub type Weights = (String, [f64; 4]);

/// The expected score.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The score.
    pub value: f64,
    /// The dimensions, in the order of [`Weights`].
    pub dimensions: [f64; 4],
    /// The overrides that apply, with the score before and after.
    pub overrides: Vec<(&'static str, f64, f64)>,
    /// The name of the profile.
    pub profile: String,
}

/// Maps a score to the next one.
type Correction = fn(f64) -> f64;

/// Scores a valid trace whose novelty is known. `own` replaces built-in profiles, or adds to them.
pub fn score(trace: &Value, novelty: f64, own: &[Weights]) -> Expected {
    let mut profiles = HashMap::from([
        ("default", [0.25, 0.35, 0.15, 0.25]),
        ("finance", [0.20, 0.25, 0.10, 0.45]),
        ("code", [0.20, 0.30, 0.30, 0.20]),
        ("medical", [0.15, 0.20, 0.10, 0.55]),
        ("customer_service", [0.20, 0.30, 0.20, 0.30]),
    ]);
    profiles.extend(own.iter().map(|(domain, weights)| (&**domain, *weights)));
    let domain = trace["metadata"]["task_domain"].as_str().expect("a domain");
    let profile = if profiles.contains_key(domain) { domain } else { "default" };
    let [wc, wn, wd, wo] = profiles[profile];

    let success = trace["metadata"]["success"].as_bool().expect("a boolean");
    let confidence = trace["outcome"]["confidence"].as_f64().expect("a number");
    let steps = trace["steps"].as_array().expect("an array");
    let kinds: Vec<_> = steps.iter().map(|step| step["type"].as_str().expect("a type")).collect();
    let unique_kinds: HashSet<_> = kinds.iter().collect();
    let recoveries = kinds.iter().filter(|kind| **kind == "error_recovery").count();
    let tools = steps.iter().map(|step| &step["tool"]).filter(|tool| !tool.is_null());
    let unique_tools: HashSet<_> = tools.map(|tool| tool["name"].as_str()).collect();
    let count = steps.len() as f64;

    let c = unique_kinds.len() as f64 / 4.0 * 0.5
        + (if recoveries > 0 { 0.3 } else { 0.0 })
        + count / 20.0 * 0.2;
    let c = f64::min(1.0, c);
    let d = f64::min(1.0, unique_tools.len() as f64 / f64::max(1.0, count) * 3.0);
    let o = confidence * if success { 1.0 } else { 0.3 };
    let sum = c * wc + novelty * wn + d * wd + o * wo;

    let mut value = sum.clamp(0.0, 1.0);
    let mut overrides = Vec::new();
    let rules: [(_, _, Correction); 3] = [
        ("single-thought", kinds == ["thought"], |_| 0.1),
        ("error-recovery", recoveries > 2 && success, |x| f64::min(1.0, x + 0.1)),
        ("low-tool-diversity", unique_tools.len() == 1, |x| f64::max(0.0, x - 0.1)),
    ];
    for (name, _, correct) in rules.into_iter().filter(|(_, applies, _)| *applies) {
        let after = correct(value);
        overrides.push((name, value, after));
        value = after;
    }
    Expected { value, dimensions: [c, novelty, d, o], overrides, profile: profile.to_owned() }
}

/// Compares a score with the expected one, bit for bit.
#[track_caller]
pub fn assert_score(found: &Score, expected: &Expected) {
    let all = found.dimensions;
    let dimensions = [all.complexity, all.novelty, all.tool_diversity, all.outcome_confidence];
    assert_eq!(found.value.to_bits(), expected.value.to_bits(), "{found:?} for {expected:?}");
    assert_eq!(dimensions.map(f64::to_bits), expected.dimensions.map(f64::to_bits), "{found:?}");
    let overrides: Vec<_> = found.overrides.iter().map(|o| (o.name, o.before, o.after)).collect();
    assert_eq!(overrides, expected.overrides, "{found:?}");
    assert_eq!(found.profile.domain, expected.profile, "{found:?}");
    let within_bounds = [&dimensions[..], &[found.value]].concat();
    assert!(within_bounds.iter().all(|x| (0.0..=1.0).contains(x)), "{found:?}");
}
