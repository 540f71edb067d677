//! What is counted in a trace, the formula, the overrides and their order, without an embedder.

use knowledgepulse_scoring::{
    Novelty, Profiles, Score, Trace,
    cache::Nearest,
    overrides::{self, Fired},
    trace::{Confidence, Step, quote},
    weights::Weights,
};
use knowledgepulse_test_support::{input, oracle};
use proptest::prelude::*;
use serde_json::{Value, json};

fn json_trace(domain: &str, success: bool, confidence: f64, steps: Value) -> Value {
    knowledgepulse_test_support::trace(json!({
        "metadata": { "task_domain": domain, "success": success },
        "steps": steps,
        "outcome": { "confidence": confidence },
    }))
}

fn trace(domain: &str, success: bool, confidence: f64, steps: Value) -> Trace {
    input(&json_trace(domain, success, confidence, steps)).trace
}

fn compared(similarity: f64) -> Novelty {
    Novelty::Cache(Nearest { similarity, id: None })
}

fn steps(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({ "type": kind })).collect()
}

#[test]
fn score_has_the_golden_values() {
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
            Novelty::EmptyCache,
            &Profiles::default(),
        );
        assert!((score.value - expected).abs() <= 1e-12, "{domain}: {}", score.value);
        assert!(score.overrides.is_empty(), "{domain}");
    }
}

#[test]
fn overrides_of_a_trace_are_those_of_their_names() {
    let names: Vec<_> = overrides::names().collect();
    assert_eq!(names, ["single-thought", "error-recovery", "low-tool-diversity"]);
    // In the order of the rules, whatever that of the names.
    for (names, weighted, expected) in [
        (&[][..], 0.7, 0.7),
        (&["single-thought"], 0.7, 0.1),
        (&["error-recovery"], 0.25, 0.25 + 0.1),
        (&["error-recovery"], 0.95, 1.0),
        (&["low-tool-diversity"], 0.75, 0.75 - 0.1),
        (&["low-tool-diversity"], 0.05, 0.0),
        (&["low-tool-diversity", "error-recovery"], 0.95, 0.9),
        (&["low-tool-diversity", "single-thought"], 0.7, 0.0),
    ] {
        let fired = Fired::named(names.iter().copied()).unwrap();
        assert_eq!(fired.correct(weighted), expected, "{names:?}");
    }
    assert_eq!(Fired::named(["error-recovery", "else"]), Err("else"));
}

#[test]
fn overrides_apply_in_order() {
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
        let score = Score::of(&trace, Novelty::EmptyCache, &Profiles::default());
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
fn score_stays_within_bounds() {
    let kinds = ["thought", "tool_call", "observation", "error_recovery", "error_recovery"];
    let most = [&kinds[..], &["error_recovery"; 20][..]].concat();
    let tools: Value = most
        .iter()
        .enumerate()
        .map(|(i, kind)| json!({ "type": kind, "tool": { "name": i.to_string() } }))
        .collect();
    let novel = compared(-1.0);
    assert_eq!(novel.value(), 1.0, "similarity below 0 is as novel as it gets");
    let best = Score::of(&trace("default", true, 1.0, tools), novel, &Profiles::default());
    assert_eq!(best.value, 1.0);

    let repeated = compared(1.0);
    let nothing = json!([{ "type": "thought", "tool": {} }]);
    let worst = Score::of(&trace("medical", false, 0.0, nothing), repeated, &Profiles::default());
    assert_eq!(worst.value, 0.0, "0.1 for the single thought, less 0.1 for the single tool");
}

fn trace_of(steps: Vec<Step>, id: Option<String>) -> Trace {
    Trace::new("code".into(), true, Confidence::new(0.5).unwrap(), steps, id)
}

#[test]
fn id_has_at_most_1024_bytes() {
    let id = |id: &str| trace_of(Vec::new(), Some(id.into())).id().map(ToString::to_string);
    for text in ["kp:trace:1", "", "👩‍🔬 e\u{301}\0", &"i".repeat(1024)] {
        assert_eq!(id(text).as_deref(), Some(text));
    }
    assert_eq!(id(&"i".repeat(1025)), None);
    assert_eq!(trace_of(Vec::new(), None).id(), None);
}

#[test]
fn unique_types_and_unique_tools_count_each_once() {
    let named = |name: &str| Some(Some(name.into()));
    let steps = [
        ("thought", None),
        ("thought", Some(None)),
        ("daydream", named("a")),
        ("error_recovery", Some(None)),
        ("nightmare", named("a")),
        ("error_recovery", named("")),
    ];
    let trace = trace_of(steps.map(|(kind, tool)| Step::new(kind, tool)).into(), None);
    assert_eq!(trace.unique_types(), 4);
    assert_eq!(trace.unique_tools(), 3, "nameless, \"a\" and the empty name");
    assert_eq!(trace.error_recoveries(), 2);
}

#[test]
fn quote_shows_forty_characters() {
    for (length, more) in [(0, false), (39, false), (40, false), (41, true), (4000, true)] {
        for letter in ["x", "é", "👩"] {
            let (text, shown) = (letter.repeat(length), letter.repeat(length.min(40)));
            let mark = if more { "…" } else { "" };
            assert_eq!(quote(&text), format!("\"{shown}\"{mark}"), "{length} × {letter}");
        }
    }
    assert_eq!(quote("a\n\""), r#""a\n\"""#);
}

/// Few kinds and tools, so that all numbers of different ones come up.
fn steps_of_all_kinds() -> impl Strategy<Value = Vec<Value>> {
    let kinds = ["thought", "tool_call", "observation", "error_recovery", "Thought", "daydream"];
    let tools =
        [json!(null), json!(null), json!({}), json!({ "name": "a" }), json!({ "name": "" })];
    let step = (prop::sample::select(kinds.to_vec()), prop::sample::select(tools.to_vec()));
    let step = step.prop_map(|(kind, tool)| json!({ "type": kind, "tool": tool }));
    prop_oneof![
        1 => Just(vec![json!({ "type": "thought" })]),
        9 => prop::collection::vec(step, 0..25),
    ]
}

proptest! {
    #[test]
    fn score_equals_that_of_the_oracle_bit_for_bit(
        domain in prop::sample::select(
            vec!["finance", "code", "medical", "customer_service", "legal", "constructor", ""]
        ),
        success: bool,
        confidence in 0.0..=1.0,
        steps in steps_of_all_kinds(),
        similarity in -1.0..=1.0,
        parts in (0.01..1.0, 0.01..1.0, 0.01..1.0, 0.01..1.0),
    ) {
        let parts: [f64; 4] = parts.into();
        let sum: f64 = parts.iter().sum();
        let own = parts.map(|part| part / sum);
        let [complexity, novelty, tool_diversity, outcome_confidence] = own;
        let weights = Weights { complexity, novelty, tool_diversity, outcome_confidence };
        let profiles = Profiles::with([("legal".to_owned(), weights)]).expect("weights");

        let json = json_trace(domain, success, confidence, json!(steps));
        let trace = input(&json).trace;
        let own = [("legal".to_owned(), own)];
        for (novelty, value) in [
            (Novelty::EmptyCache, 0.5),
            (Novelty::OverBudget, 0.5),
            (Novelty::NoEmbedder { reason: "off".into() }, 0.5),
            (compared(similarity), (1.0 - similarity).clamp(0.0, 1.0)),
        ] {
            let found = Score::of(&trace, novelty, &profiles);
            oracle::assert_score(&found, &oracle::score(&json, value, &own));
        }
        let bounds @ [least, greatest] = Score::bounds(&trace, &profiles);
        let [none, all] = [0.0, 1.0].map(|novelty| oracle::score(&json, novelty, &own).value);
        prop_assert_eq!(bounds.map(f64::to_bits), [none, all].map(f64::to_bits));
        // Also neighbours, where rounding could turn the order.
        let drawn = similarity.abs();
        for novelty in [0.0, 1e-300, drawn, drawn.next_down().max(0.0), 1.0_f64.next_down(), 1.0] {
            let score = oracle::score(&json, novelty, &own).value;
            prop_assert!((least..=greatest).contains(&score), "{score} at {novelty}, {bounds:?}");
        }
    }
}
