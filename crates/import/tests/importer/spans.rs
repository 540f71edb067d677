//! Traces of spans that are open at once.

use knowledgepulse_import::Imported;
use knowledgepulse_test_support::importing::{self, value_of};
use serde_json::{Value, json};

use crate::{import, lines, skipped, steps, with};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Returns a span by itself.
fn span(trace: &str, id: &str, parent: Option<&str>, start: u64, attributes: Value) -> Value {
    json!({
        "name": "span", "traceId": trace, "spanId": id, "parentSpanId": parent,
        "startTimeUnixNano": 1_760_000_000_000_000_000 + start, "attributes": attributes,
    })
}

fn tool(id: &str, parent: Option<&str>, start: u64, name: &str, attributes: Value) -> Value {
    let tool = json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name });
    span(TRACE, id, parent, start, with(tool, attributes))
}

fn model(id: &str, parent: Option<&str>, start: u64, input: Value, output: Value) -> Value {
    let attributes = json!({ "gen_ai.input.messages": input, "gen_ai.output.messages": output });
    span(TRACE, id, parent, start, attributes)
}

/// Imports the one run of a log.
fn run(records: &[Value]) -> Imported {
    importing::run(&lines(records))
}

#[test]
fn otel_closes_the_trace_whose_last_record_is_longest_ago() {
    let line = |index: usize| {
        let attributes = json!({ "gen_ai.input.messages": "[]", "gen_ai.output.messages": "Yes." });
        json!({ "name": "span", "traceId": format!("0x{index:032X}"), "spanId": "s", "attributes": attributes })
    };
    let mut records: Vec<_> = (0..65).map(line).collect();
    records.extend([line(0), line(1)]);
    let outcome = import(&lines(&records));
    let keys: Vec<_> =
        outcome.traces().map(|trace| trace.provenance.key.clone().unwrap()).collect();
    assert_eq!(keys, (0..65).map(|index| format!("{index:032x}")).collect::<Vec<_>>());
    let skipped = importing::skipped(&outcome.report.skipped);
    assert_eq!(skipped, json!({ "late": 1, "repeated": 1 }));
}

#[test]
fn otel_counts_the_attributes_that_limits_have_dropped() {
    let dropped = |span, count: Value| with(span, json!({ "droppedAttributesCount": count }));
    let answer = json!([{ "role": "assistant", "content": "Yes." }]);
    let records = [
        dropped(model("a", None, 1, json!([]), answer), json!(2)),
        dropped(tool("b", Some("a"), 2, "first", json!({})), json!(1)),
        dropped(tool("c", Some("a"), 3, "second", json!({})), json!("many")),
    ];
    assert_eq!(skipped(&run(&records)), json!({ "dropped_attribute": 3 }));
}

#[test]
fn otel_span_of_phoenix_has_the_id_of_its_context() {
    let span = |id: &str, parent: Option<&str>, status: &str, attributes: Value| {
        json!({
            "id": format!("U3Bhbjo{id}"), "name": "f", "context": { "trace_id": TRACE, "span_id": id },
            "parent_id": parent, "status_code": status, "status_message": "no such file", "attributes": attributes,
        })
    };
    let imported = run(&[
        span("a", None, "OK", json!({ "openinference.span.kind": "AGENT", "input.value": "Look" })),
        span("b", Some("a"), "ERROR", json!({ "openinference.span.kind": "TOOL" })),
        span("c", Some("a"), "OK", json!({ "openinference.span.kind": "TOOL", "tool.name": "g" })),
    ]);
    assert_eq!(imported.provenance.key, Some(format!("{TRACE}:a")));
    let expected = ["tool_call f", "observation no such file", "error_recovery g"];
    assert_eq!(steps(&imported), expected);
}

/// Returns spans, each followed by those of requests to a server, which say nothing of agents.
fn among_requests(spans: impl IntoIterator<Item = Value>, requests: usize) -> String {
    let attributes = json!({ "http.route": "/health", "error.type": "500", "input": "a" });
    let request = span("?", "s", None, 0, attributes).to_string();
    let mut log = String::new();
    for (round, span) in spans.into_iter().enumerate() {
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
    let root = span(TRACE, "r", None, 0, json!({ "http.route": "/chat" }));
    let agent = json!({ "gen_ai.operation.name": "invoke_agent", "input.value": "Go" });
    let agent = |id: &str, parent: &str| span(TRACE, id, Some(parent), 1, agent.clone());
    let plain = span(TRACE, "p", Some("a"), 2, json!({ "db.system": "sqlite" }));
    let answer = json!([{ "role": "assistant", "content": "Done." }]);
    let as_started = [
        root,
        agent("a", "r"),
        plain,
        agent("b", "p"),
        tool("t", Some("b"), 4, "f", json!({})),
        model("m", Some("a"), 5, Value::Null, answer),
    ];
    let as_ended = as_started.iter().rev().cloned().collect();
    for spans in [as_started.to_vec(), as_ended] {
        let outcome = import(&among_requests(spans, 2000));
        let traces: Vec<_> = outcome.traces().collect();
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0].provenance.key, Some(format!("{TRACE}:a")));
        assert_eq!(value_of(traces[0])["task"]["objective"], "Go");
        assert_eq!(steps(traces[0]), ["tool_call f", "thought Done."]);
        assert_eq!(skipped(traces[0]), json!({ "other_span": 1 }));
        assert_eq!(importing::skipped(&outcome.report.skipped), json!({ "other_span": 12_001 }));
    }
}

#[test]
fn otel_root_that_says_nothing_names_the_run_below_it() {
    let mut root = span(TRACE, "r", None, 0, json!({}));
    (root["name"], root["status"]) = ("answer".into(), json!({ "code": 2 }));
    let spans = [root, tool("t", Some("r"), 1, "f", json!({}))];
    let imported = importing::run(&among_requests(spans, 10_000));
    let trace = value_of(&imported);
    let found = json!([trace["task"]["objective"], trace["metadata"]["success"]]);
    assert_eq!(found, json!(["answer", false]));
}

#[test]
fn otel_ids_that_are_used_again_after_an_answer_are_those_of_new_calls() {
    let call = |city: &str| {
        let function = json!({ "name": "weather", "arguments": { "city": city } });
        json!([{ "role": "assistant", "tool_calls": [{ "id": "call_1", "function": function }] }])
    };
    let answer =
        |text: &str| json!([{ "role": "tool", "tool_call_id": "call_1", "content": text }]);
    let said = |text: &str| json!([{ "role": "assistant", "content": text }]);
    let asked = json!([{ "role": "user", "content": "Compare" }]);
    let expected = [
        r#"tool_call weather {"city":"Oslo"}"#, "observation cold",
        r#"tool_call weather {"city":"Rome"}"#, "observation warm", "thought Rome.",
    ];
    let all = |parts: &[&Value]| {
        json!(parts.iter().flat_map(|part| part.as_array().unwrap()).collect::<Vec<_>>())
    };
    let only_new = [asked.clone(), answer("cold"), answer("warm")];
    let whole = [
        asked.clone(),
        all(&[&asked, &call("Oslo"), &answer("cold")]),
        all(&[&asked, &call("Oslo"), &answer("cold"), &call("Rome"), &answer("warm")]),
    ];
    for [first, second, third] in [only_new, whole] {
        let records = [
            model("a", None, 1, first, call("Oslo")),
            model("b", None, 2, second, call("Rome")),
            model("c", None, 3, third, said("Rome.")),
        ];
        assert_eq!(steps(&run(&records)), expected);
    }
}
