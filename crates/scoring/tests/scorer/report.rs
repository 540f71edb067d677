//! The JSON of a report, which is `ScoreReport` in JavaScript.

use std::time::Duration;

use knowledgepulse_scoring::{
    Novelty, Profiles, Score,
    cache::Nearest,
    embed::TextFacts,
    scorer::{Report, Times},
};
use knowledgepulse_test_support::{input, trace};
use serde_json::{Value, json};

fn report(novelty: Novelty, text: Option<TextFacts>) -> Value {
    let trace = trace(json!({
        "metadata": { "task_domain": "finance", "success": true },
        "steps": [{ "type": "tool_call", "tool": { "name": "ledger" } }],
        "outcome": { "confidence": 0.75 },
    }));
    let score = Score::of(&input(&trace).trace, novelty, &Profiles::default());
    let times = Times {
        total: Duration::from_micros(6500),
        queue: Duration::from_micros(250),
        tokenize: Duration::from_millis(1),
        infer: Duration::from_millis(5),
        turn: Duration::ZERO,
        cache: Duration::from_micros(125),
    };
    serde_json::to_value(Report { score, text, times, is_known: true }).expect("JSON")
}

#[test]
fn report_has_the_names_and_the_shape_of_score_report() {
    let text = TextFacts {
        novelty: "run",
        model_name: "a model".into(),
        tokens: 600,
        is_cut: true,
        from_memo: false,
        unknown_tokens: 0.25,
    };
    let nearest = Nearest { similarity: 0.25, id: Some("kp:trace:1".into()) };
    // In the order of the formula, so that the last digits are the same.
    let complexity = 1.0 / 4.0 * 0.5 + 0.0 + 1.0 / 20.0 * 0.2;
    let sum: f64 = complexity * 0.20 + 0.75 * 0.25 + 1.0 * 0.10 + 0.75 * 0.45;
    let expected = json!({
        "score": sum - 0.1,
        "dimensions": {
            "complexity": complexity,
            "novelty": 0.75,
            "toolDiversity": 1.0,
            "outcomeConfidence": 0.75,
        },
        "profile": "finance",
        "weights": {
            "complexity": 0.20,
            "novelty": 0.25,
            "toolDiversity": 0.10,
            "outcomeConfidence": 0.45,
        },
        "hint": null,
        "overrides": [{ "name": "low-tool-diversity", "before": sum, "after": sum - 0.1 }],
        "novelty": {
            "source": "cache",
            "maxSimilarity": 0.25,
            "nearest": "kp:trace:1",
            "seq": null,
            "reason": null,
        },
        "text": {
            "novelty": "run",
            "modelName": "a model",
            "tokens": 600,
            "isCut": true,
            "fromMemo": false,
            "unknownTokens": 0.25,
        },
        "timesMs": {
            "total": 6.5,
            "queue": 0.25,
            "tokenize": 1.0,
            "infer": 5.0,
            "turn": 0.0,
            "cache": 0.125,
        },
    });
    assert_eq!(report(Novelty::Cache(nearest), Some(text)), expected);
}

#[test]
fn report_has_null_for_what_a_source_of_novelty_does_not_have() {
    let unnamed = Nearest { similarity: -0.5, id: None };
    let [off, down] = ["off", "down"].map(Into::into);
    for (novelty, expected) in [
        (Novelty::Cache(unnamed.clone()), json!(["cache", -0.5, null, null])),
        (Novelty::EmptyCache, json!(["empty-cache", null, null, null])),
        (Novelty::Given(Some(unnamed.clone())), json!(["given", -0.5, null, null])),
        (Novelty::Given(None), json!(["given", null, null, null])),
        (Novelty::Store { seq: 7, nearest: Some(unnamed) }, json!(["store", -0.5, 7, null])),
        (Novelty::Store { seq: 1, nearest: None }, json!(["store", null, 1, null])),
        (Novelty::NoStore(down), json!(["no-store", null, null, "down"])),
        (Novelty::OverBudget, json!(["over-budget", null, null, null])),
        (Novelty::NoEmbedder(off), json!(["no-embedder", null, null, "off"])),
    ] {
        let report = report(novelty, None);
        let expected = json!({
            "source": expected[0],
            "maxSimilarity": expected[1],
            "nearest": null,
            "seq": expected[2],
            "reason": expected[3],
        });
        assert_eq!(report["novelty"], expected);
        assert_eq!(report.get("text"), Some(&json!(null)), "there, and null");
    }
}
