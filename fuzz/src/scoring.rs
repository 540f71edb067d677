//! Scores of a trace, compared with those of the oracle.

use knowledgepulse_scoring::{Novelty, Profiles, Score, Trace, cache::Nearest, weights::Weights};
use knowledgepulse_test_support::oracle;

use crate::reading::Plain;

/// Scores a trace with every source of novelty, and compares each score.
pub fn check(trace: &Trace, plain: &Plain, similarity: f64, own: &[oracle::Weights]) {
    let weights = |[complexity, novelty, tool_diversity, outcome_confidence]: [f64; 4]| Weights {
        complexity,
        novelty,
        tool_diversity,
        outcome_confidence,
    };
    let given = own.iter().map(|(domain, all)| (domain.clone(), weights(*all)));
    let found = Profiles::with(given);
    let fits = |(_, all): &oracle::Weights| {
        let sum: f64 = all.iter().sum();
        all.iter().all(|x| x.is_finite() && *x >= 0.0) && (sum - 1.0).abs() <= 1e-9
    };
    let Some((domain, _)) = own.iter().find(|all| !fits(all)) else {
        let profiles = found.expect("weights that sum to 1");
        return compare_all(trace, plain, similarity, own, &profiles);
    };
    let error = found.expect_err("weights that do not fit");
    let path = error.path().expect("a path");
    assert_eq!(error.code(), "INVALID_OPTION");
    assert!(path.starts_with(&format!("profiles.{domain}")), "{path} for {domain:?}");
    compare_all(trace, plain, similarity, &[], &Profiles::default());
}

fn compare_all(
    trace: &Trace,
    plain: &Plain,
    similarity: f64,
    own: &[oracle::Weights],
    profiles: &Profiles,
) {
    for (novelty, value) in [
        (Novelty::EmptyCache, 0.5),
        (Novelty::OverBudget, 0.5),
        (Novelty::NoEmbedder { reason: "switched off".into() }, 0.5),
        (Novelty::Cache(Nearest { similarity, id: None }), (1.0 - similarity).clamp(0.0, 1.0)),
    ] {
        let found = Score::of(trace, novelty, profiles);
        oracle::assert_score(&found, &oracle::score(&plain.trace, value, own));
    }
}
