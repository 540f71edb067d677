//! Traces of spans that are open at once.

use knowledgepulse_test_support::importing;
use serde_json::{Value, json};

use crate::{import, lines, steps, with};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Returns a span of a trace.
fn span(trace: &str, id: &str, parent: Option<&str>, start: u64, attributes: Value) -> Value {
    json!({
        "name": "answer", "traceId": trace, "spanId": id, "parentSpanId": parent,
        "startTimeUnixNano": 1_760_000_000_000_000_000 + start, "attributes": attributes,
    })
}

#[test]
fn otel_closes_the_trace_whose_last_record_is_longest_ago() {
    let line = |index: usize| {
        let attributes = json!({ "gen_ai.input.messages": "[]", "gen_ai.output.messages": "Yes." });
        span(&format!("0x{index:032X}"), "s", None, 0, attributes)
    };
    let records: Vec<_> = (0..65).chain([0, 1]).map(line).collect();
    let outcome = import(&lines(&records));
    let keys = outcome.traces().map(|trace| trace.provenance.key.clone().unwrap());
    assert!(keys.eq((0..65).map(|index| format!("{index:032x}"))));
    let skipped = importing::skipped(&outcome.report.skipped);
    assert_eq!(skipped, json!({ "late": 1, "repeated": 1 }));
}

/// Returns spans, each followed by those of requests to a server, which say nothing of agents.
fn among_requests(spans: &[Value], requests: usize) -> String {
    let attributes = json!({ "http.route": "/health", "error.type": "500", "input": "a" });
    let request = span("?", "s", None, 0, attributes).to_string();
    let mut log = String::new();
    for (round, span) in spans.iter().enumerate() {
        log += &format!("{span}\n");
        for index in 0..requests {
            log += &request.replace('?', &format!("{round:016x}{index:016x}"));
            log.push('\n');
        }
    }
    log
}

#[test]
fn otel_traces_of_a_server_take_no_place_of_a_run() {
    let agent = json!({ "gen_ai.operation.name": "invoke_agent", "input.value": "Go" });
    let tool = json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f" });
    let answer = json!({ "gen_ai.input.messages": null, "gen_ai.output.messages": [{ "role": "assistant", "content": "Done." }] });
    let as_started = [
        span(TRACE, "r", None, 0, json!({ "http.route": "/chat" })),
        span(TRACE, "a", Some("r"), 1, agent.clone()),
        span(TRACE, "p", Some("a"), 2, json!({ "db.system": "sqlite" })),
        span(TRACE, "b", Some("p"), 1, agent),
        span(TRACE, "t", Some("b"), 4, tool.clone()),
        span(TRACE, "m", Some("a"), 5, answer),
    ];
    let as_ended: Vec<_> = as_started.iter().rev().cloned().collect();
    // A root that says nothing names the run below it.
    let root = with(span(TRACE, "r", None, 0, json!({})), json!({ "status": { "code": 2 } }));
    let silent = [root, span(TRACE, "t", Some("r"), 1, tool)];
    let (key, one) = (format!("{TRACE}:a"), json!({ "other_span": 1 }));
    let agent = json!([key, "Go", true, ["f", "Done."], one, { "other_span": 12_001 }]);
    let silent_root = json!([TRACE, "answer", false, ["f"], one, { "other_span": 20_000 }]);
    for (spans, requests, expected) in [
        (&as_started[..], 2000, &agent),
        (&as_ended, 2000, &agent),
        (&silent, 10_000, &silent_root),
    ] {
        let outcome = import(&among_requests(spans, requests));
        let [Ok(imported)] = &outcome.items[..] else { panic!("{:?}", outcome.items) };
        let (trace, from) = (importing::value_of(imported), &imported.provenance);
        let step = |step: &Value| step.get("content").unwrap_or(&step["tool"]["name"]).clone();
        let steps: Vec<_> = steps(imported).iter().map(step).collect();
        let (objective, success) = (&trace["task"]["objective"], &trace["metadata"]["success"]);
        let skipped = &outcome.report.skipped;
        assert_eq!(json!([from.key, objective, success, steps, from.skipped, skipped]), *expected);
    }
}
