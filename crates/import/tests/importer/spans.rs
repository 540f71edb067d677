//! Rules of spans that no sample shows.

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
fn otel_parents_in_a_cycle_are_read() {
    let records = [
        tool("a", Some("b"), 1, "first", json!({})),
        tool("b", Some("a"), 2, "second", json!({})),
        tool("c", Some("c"), 3, "third", json!({})),
        tool("c", None, 4, "fourth", json!({})),
    ];
    let outcome = import(&lines(&records));
    let expected = ["tool_call first", "tool_call second", "tool_call third"];
    assert_eq!(steps(outcome.traces().next().unwrap()), expected);
    assert_eq!(importing::skipped(&outcome.report.skipped), json!({ "repeated": 1 }));
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
fn otel_closes_the_trace_whose_last_record_is_longest_ago() {
    let line = |index: usize| {
        let attributes = json!({ "gen_ai.input.messages": "[]", "gen_ai.output.messages": "Yes." });
        span(&format!("0x{index:032X}"), "s", None, 0, attributes)
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
fn otel_log_records_may_come_before_their_span() {
    let record = |name: &str, body: Value| {
        json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [
            { "traceId": TRACE, "spanId": "m", "eventName": name, "body": { "stringValue": body } },
        ] }] }] })
    };
    let imported = run(&[
        record("gen_ai.user.message", json!("Noon?")),
        record("gen_ai.choice", json!("Yes.")),
        span(TRACE, "m", None, 1, json!({})),
    ]);
    assert_eq!(value_of(&imported)["task"]["objective"], "Noon?");
    assert_eq!(steps(&imported), ["thought Yes."]);
}

#[test]
fn otel_tools_match_by_id_then_input_then_name() {
    let call = |id: Option<&str>, input: Value| json!({ "type": "tool_call", "id": id, "name": "look", "arguments": input });
    let calls = [call(None, json!(1)), call(None, json!(2)), call(Some("x"), json!(3))];
    let look = |id: &str, start: u64, attributes: Value| {
        tool(id, Some("m"), start, "functions.look", attributes)
    };
    let imported = run(&[
        model(
            "m",
            None,
            0,
            json!([{ "role": "user", "content": "Look." }]),
            json!([{ "role": "assistant", "parts": calls }]),
        ),
        look("a", 1, json!({ "gen_ai.tool.call.result": "of any" })),
        look("b", 2, json!({ "input": "1", "output": "of 1" })),
        look("c", 3, json!({ "gen_ai.tool.call.id": "x", "output": "of x" })),
        look("d", 4, json!({ "gen_ai.tool.call.id": "x", "output": "of x, again" })),
        look("e", 5, json!({ "output": "of none", "input": "{}" })),
    ]);
    assert_eq!(
        steps(&imported),
        [
            r#"tool_call look {"value":1}"#, r#"tool_call look {"value":2}"#,
            r#"tool_call look {"value":3}"#, "observation of any", "observation of 1",
            "observation of x", "tool_call functions.look", "observation of none",
        ]
    );
    assert_eq!(skipped(&imported), json!({ "repeated": 5 }));
}

#[test]
fn otel_error_of_a_tool_holds_for_its_answer_in_messages() {
    let calls = json!([{ "role": "assistant", "tool_calls": [{ "id": "x", "function": { "name": "f" } }] }]);
    let imported = run(&[
        model("1", None, 1, json!([{ "role": "user", "content": "Go." }]), calls),
        tool("2", None, 2, "f", json!({ "gen_ai.tool.call.id": "x", "error.type": "timeout" })),
        model(
            "3",
            None,
            3,
            json!([{ "role": "tool", "tool_call_id": "x", "content": "no answer" }]),
            json!([{ "role": "assistant", "tool_calls": [{ "id": "y", "function": { "name": "g" } }] }]),
        ),
    ]);
    assert_eq!(steps(&imported), ["tool_call f", "observation no answer", "error_recovery g"]);
}

#[test]
fn otel_model_call_that_records_more_than_those_below_it_stays() {
    let user = json!([{ "role": "user", "content": "Noon?" }]);
    let imported = run(&[
        model("1", None, 1, user, json!("Yes.")),
        model("2", Some("1"), 2, Value::Null, json!("Yes. (raw)")),
        model("3", Some("2"), 3, Value::Null, json!("Yes. (rawer)")),
    ]);
    assert_eq!(steps(&imported), ["thought Yes."]);
    assert_eq!(skipped(&imported), json!({ "wrapper_span": 2 }));
}

#[test]
fn otel_reads_flattened_messages_of_all_notations() {
    let imported = run(&[span(
        TRACE,
        "1",
        None,
        1,
        json!({
            "gen_ai.prompt.10.content": "Last.",
            "gen_ai.prompt.9.content": r#"[{"type": "text", "text": "First."}]"#,
            "gen_ai.prompt.9.role": "user",
            "llm.output_messages.0.message.function_call_name": "old",
            "llm.output_messages.0.message.function_call_arguments_json": r#"{"a": 1}"#,
            "llm.output_messages.1.message.role": "assistant",
            "llm.output_messages.2.message.tool_calls.0.name": "short",
            "llm.output_messages.2.message.tool_calls.0.arguments": "{}",
        }),
    )]);
    assert_eq!(value_of(&imported)["task"]["objective"], "First.");
    let expected = ["observation Last.", r#"tool_call old {"a":1}"#, "tool_call short"];
    assert_eq!(steps(&imported), expected);
}

#[test]
fn langfuse_label_stands_over_status_and_parents_may_be_missing() {
    let imported = run(&[json!({
        "id": "t",
        "name": "run",
        "scores": [{ "name": "PASSED", "value": 0.5 }, { "name": "resolved", "value": true }],
        "observations": [
            { "id": "b", "type": "EVENT", "level": "ERROR", "startTime": "2026-01-01T00:00:00.0000001Z" },
            { "id": "a", "type": "GENERATION", "parentObservationId": "gone", "output": "Done.",
              "startTime": "2026-01-01T00:00:00Z" },
            "no observation",
        ],
    })]);
    let found =
        json!([value_of(&imported)["metadata"]["success"], imported.provenance.success_from]);
    assert_eq!(found, json!([true, "label"]));
    assert_eq!(skipped(&imported), json!({ "malformed": 1, "other_span": 1 }));
    assert_eq!(value_of(&imported)["task"]["objective"], "run");
}

#[test]
fn otel_spans_that_start_together_are_steps_in_the_order_of_the_log() {
    let text = |role: &str, text: &str| json!([{ "role": role, "content": text }]);
    let records = [
        model("1", None, 0, text("user", "Go"), text("assistant", "a")),
        tool("2", None, 0, "f", json!({})),
        model("3", None, 0, text("user", "Go"), text("assistant", "b")),
        tool("4", None, 0, "g", json!({})),
    ];
    let expected = ["thought a", "tool_call f", "thought b", "tool_call g"];
    assert_eq!(steps(&run(&records)), expected);
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
