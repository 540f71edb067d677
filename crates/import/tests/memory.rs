//! The memory that an import takes, for lines that are made of very small values.

use knowledgepulse_import::Importer;
use knowledgepulse_test_support::{importing, memory};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// How many bytes the value in a line has.
const BYTES: usize = 64 << 10;

/// How many bytes an import asks for, for each of a line, at most. It uses fewer: what grows has room to spare.
const RATIO: usize = 9;

/// What an import takes for any line.
const FIXED: usize = 72 << 10;

/// Where a log has the value.
const VALUE: &str = "\"?\"";

/// Values of many small ones.
fn values() -> Vec<(&'static str, String)> {
    let list = |element: &str| {
        let elements = vec![element; BYTES / (element.len() + 1)];
        format!("[{}]", elements.join(","))
    };
    let keys: Vec<_> = (0..BYTES / 12).map(|index| format!("\"k{index:07}\":0")).collect();
    vec![
        ("objects", list(r#"{"":0}"#)),
        ("numbers", list("0")),
        ("empty arrays", list("[]")),
        ("nested arrays", list(&("[".repeat(100) + &"]".repeat(100)))),
        ("names", format!("{{{}}}", keys.join(","))),
        ("one name", format!("{{{}}}", vec!["\"\":0"; BYTES / 5].join(","))),
        ("fractions", list("0.5")),
        ("strings", list("\"\"")),
        ("escapes", list(r#""\n""#)),
    ]
}

/// Logs that have a value where nobody reads it, or where it is kept.
fn logs() -> Vec<(&'static str, String)> {
    let attributes = |value| json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "input.value": value });
    let span = |attributes| json!({ "name": "f", "traceId": "t", "spanId": "1", "attributes": attributes });
    let otlp = json!([
        { "key": "gen_ai.tool.name", "value": { "stringValue": "f" } },
        { "key": "gen_ai.operation.name", "value": { "stringValue": "execute_tool" } },
        { "key": "input.value", "value": { "other": "?" } },
    ]);
    let chat = |answer| json!([{ "role": "user", "content": "a" }, answer]);
    let call =
        json!({ "id": "1", "type": "function", "function": { "name": "f", "arguments": "?" } });
    let trace = |extra| {
        json!({
            "@type": "ReasoningTrace", "metadata": { "task_domain": "x", "success": true },
            "task": { "objective": "o" }, "outcome": { "confidence": 0.5 }, "extra": extra,
            "steps": [{ "type": "tool_call", "tool": { "name": "f", "input": extra } }],
        })
    };
    let session = |content| json!({ "type": "assistant", "sessionId": "s", "uuid": "u", "message": { "role": "assistant", "content": content } });
    let gemini = |member: &str| {
        let call = json!({ "id": "1", "name": "f", member: "?" });
        let messages = json!([{ "id": "1", "type": "gemini", "toolCalls": [call] }]);
        json!({ "sessionId": "s", "projectHash": "p", "messages": messages })
    };
    let copilot = |kind: &str, data| json!({ "type": kind, "data": data });
    let opencode = |state| {
        let part = json!({ "type": "tool", "tool": "f", "callID": "1", "state": state });
        json!({ "type": "tool_use", "sessionID": "s", "part": part })
    };
    let cursor = |content| json!({ "role": "assistant", "message": { "content": [content] } });
    let run = |kind: &str, inputs, outputs| json!({ "id": "1", "trace_id": "1", "run_type": kind, "inputs": inputs, "outputs": outputs });
    let exec = |item| json!({ "type": "item.completed", "item": item });
    let stream = |tool| json!({ "type": "tool_call", "subtype": "completed", "call_id": "1", "tool_call": { "fToolCall": tool } });
    let opencode_2 = |state| {
        let tool = json!({ "type": "tool", "id": "1", "name": "f", "state": state });
        let message = json!({ "id": "1", "type": "assistant", "time": {}, "content": [tool] });
        json!({ "info": { "id": "s" }, "messages": [message] })
    };
    let amp = |part| json!({ "messages": [{ "role": "user", "messageId": 0, "content": [part] }] });
    let qwen = |kind: &str, part| json!({ "type": kind, "uuid": "u", "sessionId": "s", "message": { "parts": [part] } });
    let row = |member: &str| json!({ "traceId": "t", "type": "TOOL", "name": "f", "startTime": 0, member: "?" });
    let event = |name: &str, member: &str| {
        let event = json!({ "name": name, "attributes": { member: "?" } });
        let attributes = json!({ "gen_ai.operation.name": "execute_tool" });
        json!({ "name": "f", "traceId": "t", "spanId": "1", "attributes": attributes, "events": [event] })
    };
    [
        ("an unknown member", chat(json!({ "role": "assistant", "content": "b", "extra": "?" }))),
        ("a member of no format", json!({ "extra": "?" })),
        ("arguments", chat(json!({ "role": "assistant", "tool_calls": [call] }))),
        ("a result", chat(json!({ "role": "tool", "content": "?" }))),
        ("a part with a call and its result", chat(json!({ "role": "assistant", "parts": [
            { "type": "tool-f", "toolCallId": "1", "state": "output-available", "input": "?", "output": 0 },
            { "type": "dynamic-tool", "toolCallId": "2", "state": "output-available", "output": "?" },
        ] }))),
        ("an invocation", chat(json!({ "role": "assistant", "content": { "parts": [
            { "type": "tool-invocation", "createdAt": 1, "toolInvocation": { "state": "result", "args": "?" } },
        ], "toolInvocations": [{ "state": "result", "result": "?" }] } }))),
        ("an item of the OpenAI Agents SDK", chat(json!({ "type": "shell_call", "operation": "?" }))),
        ("a result of the OpenAI Agents SDK", chat(json!({ "type": "function_call_result", "output": "?" }))),
        ("a stored message", chat(json!({ "type": "ai", "data": { "content": "b", "tool_calls": [
            { "name": "f", "args": "?" },
        ] } }))),
        ("an own trace", trace("?")),
        ("a tool input of Claude Code", session(json!([{ "type": "tool_use", "name": "f", "input": "?" }]))),
        ("an attribute", span(attributes("?"))),
        ("an attribute of OTLP", json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [span(otlp)] }] }] })),
        ("an observation", json!({ "id": "x", "observations": [{ "type": "TOOL", "name": "f", "input": "?" }] })),
        ("an output of Langfuse", json!({ "id": "x", "observations": [{ "type": "TOOL", "name": "f", "output": "?" }] })),
        ("a step of ATIF", json!({ "schema_version": "ATIF-v1.6", "steps": [
            { "source": "agent", "message": "b", "tool_calls": [{ "function_name": "f", "arguments": "?" }] },
        ] })),
        ("a sample of Inspect", json!({ "eval": {}, "status": "success", "samples": [{ "messages": [
            { "role": "assistant", "tool_calls": [{ "function": "f", "arguments": "?" }] },
        ] }] })),
        ("an item of Codex", json!({ "type": "response_item", "payload": { "type": "function_call", "name": "f", "arguments": "?" } })),
        ("arguments of codex exec", exec(json!({ "type": "mcp_tool_call", "arguments": "?" }))),
        ("a result of codex exec", exec(json!({ "type": "mcp_tool_call", "result": "?" }))),
        ("a prompt of Claude Code", json!({ "type": "attachment", "uuid": "u", "attachment": { "type": "queued_command", "prompt": "?" } })),
        ("arguments of a stream of Cursor", stream(json!({ "args": "?" }))),
        ("a result of a stream of Cursor", stream(json!({ "result": { "success": "?" } }))),
        ("an input of opencode 2", opencode_2(json!({ "input": "?" }))),
        ("an output of opencode 2", opencode_2(json!({ "status": "completed", "content": "?" }))),
        ("a result of Amp", amp(json!({ "type": "tool_result", "run": { "result": "?" } }))),
        ("arguments of Qwen Code", qwen("assistant", json!({ "functionCall": { "name": "f", "args": "?" } }))),
        ("a result of Qwen Code", qwen("tool_result", json!({ "functionResponse": { "response": "?" } }))),
        ("an input of a row of Langfuse", row("input")),
        ("an output of a row of Langfuse", row("output")),
        ("an input in an event", event("gen_ai.tool.message", "content")),
        ("an output in an event", event("gen_ai.choice", "message")),
        ("a message of Pi", json!({ "type": "message", "message": { "role": "assistant", "content": [
            { "type": "toolCall", "name": "f", "arguments": "?" },
        ] } })),
        ("a result of tau-bench", json!({ "reward": 1, "traj": [{ "role": "assistant", "tool_calls": [call] }] })),
        ("arguments of Gemini CLI", gemini("args")),
        ("a result of Gemini CLI", gemini("result")),
        ("a member of no use in Gemini CLI", gemini("resultDisplay")),
        ("arguments of Copilot CLI", copilot("tool.execution_start", json!({ "toolName": "f", "arguments": "?" }))),
        ("a result of Copilot CLI", copilot("tool.execution_complete", json!({ "result": { "content": "?" } }))),
        ("an input of opencode", opencode(json!({ "input": "?" }))),
        ("an output of opencode", opencode(json!({ "status": "completed", "output": "?" }))),
        ("a tool input of Cursor", cursor(json!({ "type": "tool_use", "name": "f", "input": "?" }))),
        ("a text of Cursor", cursor(json!({ "type": "text", "text": "?" }))),
        ("a record of Cline", json!({ "type": "say", "ts": 1, "text": "?" })),
        ("an input of a tool of LangSmith", run("tool", json!({ "input": "?" }), json!({}))),
        ("an output of a tool of LangSmith", run("tool", json!({}), json!({ "output": "?" }))),
        ("inputs of a model of LangSmith", run("llm", json!({ "messages": "?" }), json!({}))),
        ("an answer of LangSmith", run("llm", json!({}), json!({ "messages": [{ "role": "assistant", "tool_calls": [call] }] }))),
        ("a chain of LangSmith", run("chain", json!({ "messages": "?" }), json!({ "extra": "?" }))),
        ("a step of SWE-agent", json!({ "history": [], "trajectory": [{ "action": "a", "observation": "?" }] })),
    ]
    .into_iter()
    .map(|(name, log)| (name, log.to_string()))
    .collect()
}

/// Imports logs with `value` in all places. Returns those that take too much.
fn exceeding(value: &str) -> Vec<String> {
    let exceeds = |(name, log): (&str, String)| {
        let log = log.replace(VALUE, value);
        let pieces = || log.as_bytes().chunks(64 << 10);
        let (_, peak) = memory::peak(|| importing::import(pieces(), &importing::options()));
        let ratio = 100 * peak / log.len();
        (peak > RATIO * log.len() + FIXED).then(|| format!("{name}: {ratio} % of the log"))
    };
    logs().into_iter().filter_map(exceeds).collect()
}

/// Imports the four spans of a run among those of this many other traces. Returns the peak of memory.
fn among_traces(count: usize) -> usize {
    let span = |trace: usize, id: usize, attributes: &str| {
        let attributes = json!({ attributes: "execute_tool" });
        let span = json!({ "name": "f", "traceId": trace.to_string(), "spanId": id.to_string(), "attributes": attributes });
        format!("{span}\n")
    };
    let mut importer = Importer::new(importing::options());
    importer.open("spans.jsonl");
    let (traces, peak) = memory::peak(|| {
        let mut traces = Vec::new();
        for index in 1..=count {
            if index % (count / 4) == 1 {
                importer.push(span(0, index, "gen_ai.operation.name").as_bytes());
            }
            importer.push(span(index, index, "http.route").as_bytes());
            traces.extend(importer.next());
        }
        importer.end();
        traces.extend(std::iter::from_fn(|| importer.next()));
        traces
    });
    let [Ok(imported)] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!(importing::value_of(imported)["steps"].as_array().unwrap().len(), 4);
    peak
}

/// The only test of its process, of which all memory is counted.
#[test]
fn import_takes_memory_in_proportion_to_a_line_and_to_json_in_strings() {
    // The first results compile the expressions for failures.
    exceeding("[\"a\"]");
    for (name, value) in values() {
        assert_eq!(exceeding(&value), [""; 0], "{name}");
        let text = serde_json::Value::from(value).to_string();
        assert_eq!(exceeding(&text), [""; 0], "{name}, in strings");
    }

    // Other traces are forgotten.
    let [few, many] = [20_000, 60_000].map(among_traces);
    assert!(many < few + (1 << 20), "{few} bytes of 20,000 traces, {many} of 60,000");

    // Of compressed data little is decompressed at once. A frame whose blocks are 128 KiB of line feeds each.
    let block = [2, 0, 16, b'\n'];
    let archive = [&b"\x28\xb5\x2f\xfd\0\x38"[..], &block.repeat(256), &[1, 0, 0]].concat();
    let mut importer = Importer::default();
    importer.open("log.zst");
    let (_, peak) = memory::peak(|| {
        importer.push(&archive);
        importer.next()
    });
    assert_eq!(importer.reports()[0].bytes, 32 << 20);
    assert!(peak < 8 << 20, "{peak} bytes");
}
