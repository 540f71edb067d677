//! The formula, the overrides and their order, without an embedder.

use knowledgepulse_scoring::{
    dimensions::{Novelty, NoveltySource},
    overrides,
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

#[test]
fn overrides_add_and_take_a_tenth_within_bounds() {
    let recoveries = |tool: Value| {
        let step = json!({ "type": "error_recovery", "tool": tool });
        trace("d", true, 1.0, json!([step, step, step]))
    };
    let one_tool = trace("d", true, 1.0, json!([{ "type": "observation", "tool": {} }]));
    let thought = trace("d", true, 1.0, steps(&["thought"]));
    let thought_with_tool = trace("d", true, 1.0, json!([{ "type": "thought", "tool": {} }]));
    for (trace, weighted, after) in [
        (&recoveries(json!(null)), 0.25, &[0.25 + 0.1][..]),
        (&recoveries(json!(null)), 0.95, &[1.0]),
        (&recoveries(json!({})), 0.25, &[0.25 + 0.1, 0.25 + 0.1 - 0.1]),
        (&one_tool, 0.75, &[0.75 - 0.1]),
        (&one_tool, 0.05, &[0.0]),
        (&thought, 0.75, &[0.1]),
        (&thought_with_tool, 0.75, &[0.1, 0.0]),
        (&trace("d", true, 1.0, json!([])), 0.75, &[]),
    ] {
        let (value, fired) = overrides::apply(trace, weighted);
        let found: Vec<_> = fired.iter().map(|fired| fired.after).collect();
        assert_eq!(found, after, "{fired:?}");
        assert_eq!(value, *after.last().unwrap_or(&weighted));
        let before: Vec<_> = fired.iter().map(|fired| fired.before).collect();
        assert_eq!(before, [&[weighted], after].concat()[..after.len()]);
    }
}

#[test]
fn a_score_is_known_without_novelty_only_where_no_novelty_could_change_it() {
    let one_tool = json!([{ "type": "thought", "tool": { "name": "a" } }]);
    let recoveries = ["error_recovery"; 3];
    for (what, steps, expected) in [
        ("one thought", steps(&["thought"]), Some(0.1)),
        ("one thought with a tool", one_tool, Some(0.0)),
        ("no steps", json!([]), None),
        ("one other step", steps(&["observation"]), None),
        ("one tool", json!([{ "type": "observation", "tool": {} }]), None),
        ("three recoveries", steps(&recoveries), None),
    ] {
        let trace = trace("code", true, 0.5, steps);
        assert_eq!(Score::without_novelty(&trace), expected, "{what}");
        for max_similarity in [-1.0, 0.0, 0.3, 1.0] {
            let novelty = NoveltySource::Cache { max_similarity, nearest: None }.into();
            let score = Score::of(&trace, novelty, Profiles::built_in()).value;
            assert!(expected.is_none_or(|fixed| fixed == score), "{what}: {score}");
        }
    }
}

#[test]
fn novelty_is_neutral_where_nothing_was_compared() {
    let off = NoveltySource::NoEmbedder { reason: "off".into() };
    for source in [NoveltySource::EmptyCache, off, NoveltySource::OverBudget] {
        let novelty = Novelty::from(source.clone());
        assert_eq!((novelty.value(), novelty.source()), (0.5, &source));
    }
    for (max_similarity, expected) in [(-1.0, 1.0), (-0.0, 1.0), (0.25, 0.75), (1.0, 0.0)] {
        let source = NoveltySource::Cache { max_similarity, nearest: None };
        assert_eq!(Novelty::from(source).value(), expected);
    }
}
