//! What is counted in a trace, the formula, the overrides and their order, without an embedder.

use knowledgepulse_scoring::{
    Novelty, Profiles, Score,
    cache::Nearest,
    score::{Fired, rule_names},
    trace::quote,
    weights::Weights,
};
use knowledgepulse_test_support::{input, oracle, trace};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn overrides_of_a_trace_are_those_of_their_names() {
    let names: Vec<_> = rule_names().collect();
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
fn new_ignores_an_id_of_more_than_1024_bytes() {
    let has_id = |length| {
        let id = format!("é{}", "i".repeat(length - "é".len()));
        input(&trace(json!({ "id": id }))).trace.id().is_some()
    };
    assert_eq!([2, 1024, 1025].map(has_id), [true, true, false]);
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
fn steps() -> impl Strategy<Value = Vec<Value>> {
    let kinds = ["thought", "tool_call", "observation", "error_recovery", "Thought", "daydream"];
    let tools =
        [json!(null), json!(null), json!({}), json!({ "name": "a" }), json!({ "name": "" })];
    let steps_of = |kinds: &[&'static str], count| {
        let step = (prop::sample::select(kinds.to_vec()), prop::sample::select(tools.to_vec()));
        let step = step.prop_map(|(kind, tool)| json!({ "type": kind, "tool": tool }));
        prop::collection::vec(step, count)
    };
    prop_oneof![1 => steps_of(&kinds[..1], 1..3), 9 => steps_of(&kinds, 0..25)]
}

/// A number in the range, often its least or its greatest.
fn within(least: f64, greatest: f64) -> impl Strategy<Value = f64> {
    prop_oneof![8 => least..=greatest, 1 => Just(least), 1 => Just(greatest)]
}

proptest! {
    #[test]
    fn score_equals_that_of_the_oracle_bit_for_bit(
        domain in prop::sample::select(vec![
            "default", "finance", "code", "medical", "customer_service", "legal",
            "constructor", "__proto__", "Code", "code ", "",
        ]),
        success: bool,
        confidence in within(0.0, 1.0),
        steps in steps(),
        similarity in within(-1.0, 1.0),
        parts in prop::array::uniform4(0.01..1.0),
    ) {
        let sum: f64 = parts.iter().sum();
        let own = parts.map(|part| part / sum);
        let weights = [("legal".to_owned(), Weights::new(own))];
        let profiles = Profiles::with(weights);

        let json = trace(json!({
            "metadata": { "task_domain": domain, "success": success },
            "steps": steps,
            "outcome": { "confidence": confidence },
        }));
        let trace = input(&json).trace;
        let own = [("legal".to_owned(), own)];
        let nearest = Nearest { similarity, id: None };
        for (novelty, value) in [
            (Novelty::EmptyCache, 0.5),
            (Novelty::OverBudget, 0.5),
            (Novelty::NoEmbedder("off".into()), 0.5),
            (Novelty::Cache(nearest), (1.0 - similarity).clamp(0.0, 1.0)),
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
