//! The formula, the overrides and their order, without an embedder.

use knowledgepulse_scoring::{
    dimensions::{Novelty, NoveltySource},
    score::Score,
    trace::Trace,
    weights::{Profiles, Weights},
};
use serde_json::{Value, json};

fn trace(domain: &str, success: bool, confidence: f64, steps: Value) -> Trace {
    Trace::from_json(&json!({
        "metadata": { "task_domain": domain, "success": success },
        "task": { "objective": "o" },
        "steps": steps,
        "outcome": { "confidence": confidence },
    }))
    .expect("a valid trace")
}

fn neutral() -> Novelty {
    NoveltySource::EmptyCache.into()
}

fn steps(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({ "type": kind })).collect()
}

#[test]
fn golden_values() {
    let run = json!([
        { "type": "thought" },
        { "type": "tool_call", "tool": { "name": "a" } },
        { "type": "observation" },
        { "type": "tool_call", "tool": { "name": "b" } },
        { "type": "observation" },
    ]);
    for (domain, confidence, expected) in [("code-review", 0.95, 0.66875), ("finance", 0.92, 0.724)]
    {
        let score = Score::of(
            &trace(domain, true, confidence, run.clone()),
            neutral(),
            Profiles::built_in(),
        );
        assert!((score.value - expected).abs() <= 1e-12, "{domain}: {}", score.value);
        assert!(score.overrides.is_empty(), "{domain}");
    }
}

#[test]
fn overrides_fire_in_order() {
    let recoveries = ["error_recovery"; 3];
    let one_tool = json!([{ "type": "thought", "tool": { "name": "a" } }]);
    for (what, trace, expected) in [
        ("nothing", trace("d", true, 1.0, json!([])), &[][..]),
        ("one thought", trace("d", true, 1.0, steps(&["thought"])), &["single-thought"]),
        ("one other step", trace("d", true, 1.0, steps(&["observation"])), &[]),
        ("two thoughts", trace("d", true, 1.0, steps(&["thought", "thought"])), &[]),
        ("two recoveries", trace("d", true, 1.0, steps(&recoveries[..2])), &[]),
        ("three recoveries", trace("d", true, 1.0, steps(&recoveries)), &["error-recovery"]),
        ("three in vain", trace("d", false, 1.0, steps(&recoveries)), &[]),
        (
            "one thought with a tool",
            trace("d", true, 1.0, one_tool),
            &["single-thought", "low-tool-diversity"],
        ),
    ] {
        let score = Score::of(&trace, neutral(), Profiles::built_in());
        let fired: Vec<_> = score.overrides.iter().map(|fired| fired.name).collect();
        assert_eq!(fired, expected, "{what}");
        let chain = score.overrides.windows(2).all(|pair| pair[0].after == pair[1].before);
        assert!(chain, "{what}: each rule goes on from the one before");
        if let Some(last) = score.overrides.last() {
            assert_eq!(last.after, score.value, "{what}");
        }
    }
}

#[test]
fn stays_within_bounds() {
    let kinds = ["thought", "tool_call", "observation", "error_recovery", "error_recovery"];
    let most = [&kinds[..], &["error_recovery"; 20][..]].concat();
    let tools: Value = most
        .iter()
        .enumerate()
        .map(|(i, kind)| json!({ "type": kind, "tool": { "name": i.to_string() } }))
        .collect();
    let novel: Novelty = NoveltySource::Cache { max_similarity: -1.0, nearest: None }.into();
    assert_eq!(novel.value(), 1.0, "similarity below 0 is as novel as it gets");
    let best = Score::of(&trace("default", true, 1.0, tools), novel, Profiles::built_in());
    assert_eq!(best.value, 1.0);

    let repeated: Novelty = NoveltySource::Cache { max_similarity: 1.0, nearest: None }.into();
    let nothing = json!([{ "type": "thought", "tool": {} }]);
    let worst = Score::of(&trace("medical", false, 0.0, nothing), repeated, Profiles::built_in());
    assert_eq!(worst.value, 0.0, "0.1 for the single thought, less 0.1 for the single tool");
}

#[test]
fn dimensions_follow_their_formulas() {
    let run = trace(
        "code",
        false,
        0.8,
        json!([
            { "type": "thought" },
            { "type": "error_recovery", "tool": { "name": "a" } },
            { "type": "thought", "tool": { "name": "b" } },
            { "type": "thought" }, { "type": "thought" }, { "type": "thought" },
            { "type": "thought" }, { "type": "thought" },
        ]),
    );
    let score = Score::of(
        &run,
        NoveltySource::Cache { max_similarity: 0.25, nearest: None }.into(),
        Profiles::built_in(),
    );
    let dimensions = score.dimensions;
    assert_eq!(dimensions.complexity, 2.0 / 4.0 * 0.5 + 0.3 + 8.0 / 20.0 * 0.2);
    assert_eq!(dimensions.novelty, 0.75);
    assert_eq!(dimensions.tool_diversity, 2.0 / 8.0 * 3.0);
    assert_eq!(dimensions.outcome_confidence, 0.8 * 0.3);
    assert_eq!(score.profile.domain, "code");
}

#[test]
fn weights_of_the_users_own_take_the_place_of_the_built_in_ones() {
    let only_confidence =
        Weights { complexity: 0.0, novelty: 0.0, tool_diversity: 0.0, outcome_confidence: 1.0 };
    let profiles = Profiles::with([("legal".into(), only_confidence)]).expect("weights");
    let of = |domain| Score::of(&trace(domain, true, 0.75, json!([])), neutral(), &profiles);
    assert_eq!((of("legal").value, &*of("legal").profile.domain), (0.75, "legal"));
    assert_eq!(
        of("law"),
        Score::of(&trace("law", true, 0.75, json!([])), neutral(), Profiles::built_in())
    );
}
