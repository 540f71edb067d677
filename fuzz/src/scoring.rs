//! The score of a trace, written from the formula.

use std::collections::{HashMap, HashSet};

use knowledgepulse_scoring::{
    dimensions::{Novelty, NoveltySource},
    score::Score,
    trace::Trace,
    weights::{Profiles, Weights},
};

use crate::reading::Plain;

/// Domains with their weights, in the order of the formula: C, N, D, O.
pub type Overrides = Vec<(String, [f64; 4])>;

/// A naive score: the number, the rules that fired, and the name of the profile.
#[derive(Debug)]
pub struct Naive {
    pub value: f64,
    pub dimensions: [f64; 4],
    pub rules: Vec<(&'static str, f64, f64)>,
    pub profile: String,
}

/// A new score for the one before.
type Correction = fn(f64) -> f64;

/// Scores a trace of this novelty.
pub fn score(trace: &Plain, novelty: f64, overrides: &Overrides) -> Naive {
    let mut profiles = HashMap::from([
        ("default", [0.25, 0.35, 0.15, 0.25]),
        ("finance", [0.20, 0.25, 0.10, 0.45]),
        ("code", [0.20, 0.30, 0.30, 0.20]),
        ("medical", [0.15, 0.20, 0.10, 0.55]),
        ("customer_service", [0.20, 0.30, 0.20, 0.30]),
    ]);
    profiles.extend(overrides.iter().map(|(domain, weights)| (&domain[..], *weights)));
    let profile = if profiles.contains_key(&trace.domain[..]) { &trace.domain } else { "default" };
    let [wc, wn, wd, wo] = profiles[profile];

    let types: HashSet<_> = trace.steps.iter().map(|(kind, _)| kind).collect();
    let tools: HashSet<_> = trace.steps.iter().filter_map(|(_, tool)| tool.as_ref()).collect();
    let recoveries = trace.steps.iter().filter(|(kind, _)| kind == "error_recovery").count();
    let count = trace.steps.len() as f64;

    let c = types.len() as f64 / 4.0 * 0.5
        + (if recoveries > 0 { 0.3 } else { 0.0 })
        + count / 20.0 * 0.2;
    let c = f64::min(1.0, c);
    let d = f64::min(1.0, tools.len() as f64 / f64::max(1.0, count) * 3.0);
    let o = trace.confidence * if trace.success { 1.0 } else { 0.3 };
    let sum = c * wc + novelty * wn + d * wd + o * wo;

    let mut value = sum.clamp(0.0, 1.0);
    let mut rules = Vec::new();
    let thought = trace.steps.len() == 1 && trace.steps[0].0 == "thought";
    let correct: [(_, _, Correction); 3] = [
        ("single-thought", thought, |_| 0.1),
        ("error-recovery", recoveries > 2 && trace.success, |x| f64::min(1.0, x + 0.1)),
        ("low-tool-diversity", tools.len() == 1, |x| f64::max(0.0, x - 0.1)),
    ];
    for (name, _, correct) in correct.into_iter().filter(|(_, applies, _)| *applies) {
        let after = correct(value);
        rules.push((name, value, after));
        value = after;
    }
    Naive { value, dimensions: [c, novelty, d, o], rules, profile: profile.to_owned() }
}

/// Compares a score with the naive one, bit for bit.
pub fn compare(score: &Score, naive: &Naive) {
    assert!((0.0..=1.0).contains(&score.value), "{score:?}");
    assert_eq!(score.value.to_bits(), naive.value.to_bits(), "{score:?} for {naive:?}");
    let found = score.dimensions;
    let found = [found.complexity, found.novelty, found.tool_diversity, found.outcome_confidence];
    assert_eq!(found.map(f64::to_bits), naive.dimensions.map(f64::to_bits), "{found:?}");
    assert!(found.iter().all(|x| (0.0..=1.0).contains(x)), "{found:?}");
    let rules: Vec<_> = score.overrides.iter().map(|r| (r.name, r.before, r.after)).collect();
    assert_eq!(rules, naive.rules);
    assert_eq!(score.profile.domain, naive.profile);
}

/// Scores a trace with every source of novelty, and compares each score.
pub fn check(trace: &Trace, plain: &Plain, similarity: f64, overrides: &Overrides) {
    let weights = |[c, n, d, o]: [f64; 4]| Weights {
        complexity: c,
        novelty: n,
        tool_diversity: d,
        outcome_confidence: o,
    };
    let given = overrides.iter().map(|(domain, all)| (domain.clone(), weights(*all)));
    let found = Profiles::with(given);
    let fits = |(_, all): &(String, [f64; 4])| {
        let sum: f64 = all.iter().sum();
        all.iter().all(|x| x.is_finite() && *x >= 0.0) && (sum - 1.0).abs() <= 1e-9
    };
    let Some((domain, _)) = overrides.iter().find(|all| !fits(all)) else {
        let profiles = found.expect("weights that sum to 1");
        return compare_all(trace, plain, similarity, overrides, &profiles);
    };
    let error = found.expect_err("weights that do not fit");
    let path = error.path().expect("a path");
    assert_eq!(error.code(), "INVALID_OPTION");
    assert!(path.starts_with(&format!("profiles.{domain}")), "{path} for {domain:?}");
    compare_all(trace, plain, similarity, &Overrides::new(), Profiles::built_in());
}

fn compare_all(
    trace: &Trace,
    plain: &Plain,
    similarity: f64,
    overrides: &Overrides,
    profiles: &Profiles,
) {
    for (source, novelty) in [
        (NoveltySource::EmptyCache, 0.5),
        (NoveltySource::OverBudget, 0.5),
        (NoveltySource::NoEmbedder { reason: "switched off".into() }, 0.5),
        (
            NoveltySource::Cache { max_similarity: similarity, nearest: None },
            (1.0 - similarity).clamp(0.0, 1.0),
        ),
    ] {
        let found = Score::of(trace, Novelty::from(source), profiles);
        compare(&found, &score(plain, novelty, overrides));
        if let Some(value) = Score::without_novelty(trace) {
            assert_eq!(value.to_bits(), found.value.to_bits(), "whatever the novelty is");
        }
    }
    let is_fixed = plain.steps.len() == 1 && plain.steps[0].0 == "thought";
    assert_eq!(Score::without_novelty(trace).is_some(), is_fixed);
}
