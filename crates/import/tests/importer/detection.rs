//! How the format of a record is told, and to which session it belongs.

use knowledgepulse_import::{Code, Options};
use knowledgepulse_test_support::{
    importing::{self, Outcome},
    logs,
};
use serde_json::{Value, json};

use crate::{import, lines};

/// Returns the logs with one record a line, and their formats.
fn logs_of_lines() -> Vec<(String, Vec<Value>)> {
    let files = logs().into_iter().flat_map(|logs| logs.files);
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    let records = texts.filter_map(|text| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let records: Option<Vec<Value>> =
            lines.map(|line| serde_json::from_str(line).ok()).collect();
        records.filter(|records| records.len() > 1 && records.iter().all(Value::is_object))
    });
    let named = records.filter_map(|records| {
        let outcome = import(&lines(&records));
        let [format] = outcome.report.formats[..] else { return None };
        (outcome.report.traces > 0 && outcome.report.error_count == 0)
            .then(|| (format.to_owned(), records))
    });
    named.collect()
}

fn traces(outcome: &Outcome) -> Vec<String> {
    outcome.traces().map(|imported| imported.trace.to_string()).collect()
}

#[test]
fn array_of_records_is_read_like_lines() {
    let mut formats = Vec::new();
    for (format, records) in logs_of_lines() {
        let array = json!(records).to_string();
        let options = Options { format: Some(format.clone()), ..importing::options() };
        let of_format = importing::import([array.as_bytes()], &options);
        let by_line = import(&lines(&records));
        // An array of chat messages is a conversation by itself.
        if format != "messages" {
            assert_eq!(traces(&of_format), traces(&by_line), "{format}");
            assert_eq!(traces(&import(&array)), traces(&by_line), "{format}");
            formats.push(format);
        }
    }
    formats.dedup();
    assert!(formats.len() >= 8, "{formats:?}");
}

#[test]
fn sessions_take_no_records_of_another_format() {
    let mut logs = logs_of_lines();
    logs.dedup_by(|next, log| next.0 == log.0);
    for (format, begun) in &logs {
        for (other, following) in logs.iter().filter(|(other, _)| other != format) {
            let expected = [begun, following].map(|records| traces(&import(&lines(records))));
            let mut expected = expected.concat();
            expected.sort();
            // Chat messages go on until another format follows, and Droid and Pi have the same messages.
            let is_told =
                [format, other].into_iter().all(|name| !["messages", "droid"].contains(&&**name));
            let in_turns = (0..begun.len().max(following.len())).flat_map(|index| {
                [begun, following]
                    .into_iter()
                    .filter_map(move |records| records.get(index).cloned())
            });
            let one_by_one = is_told.then(|| in_turns.collect());
            for records in
                [Some([&begun[..], following].concat()), one_by_one].into_iter().flatten()
            {
                let mut found = traces(&import(&lines(&records)));
                found.sort();
                assert_eq!(found, expected, "{format} and {other}");
            }
        }
    }
}

/// Returns the only error of a log of which no format and no trace is reported.
fn refusal(records: &[Value]) -> String {
    let outcome = import(&lines(records));
    let [Err(error)] = &outcome.items[..] else { panic!("{:?}", outcome.items) };
    assert_eq!(
        (error.code, &outcome.report.formats[..]),
        (Code::UnknownFormat, &[][..]),
        "{error}"
    );
    error.message.clone()
}

#[test]
fn streams_of_tools_are_of_their_format_however_short() {
    let gemini = [
        json!({ "type": "init", "session_id": "s", "model": "m" }),
        json!({ "type": "message", "role": "user", "content": "Go" }),
        json!({ "type": "message", "role": "assistant", "content": "I", "delta": true }),
        json!({ "type": "tool_use", "tool_name": "f", "tool_id": "t", "parameters": {} }),
        json!({ "type": "tool_result", "tool_id": "t", "status": "success", "output": "a" }),
        json!({ "type": "error", "severity": "warning", "message": "w" }),
        json!({ "type": "result", "status": "success", "stats": {} }),
    ];
    let droid = [
        json!({ "type": "system", "subtype": "init", "cwd": "/", "session_id": "s", "tools": [], "model": "m" }),
        json!({ "type": "message", "role": "user", "id": "1", "text": "Go", "session_id": "s" }),
        json!({ "type": "tool_call", "id": "2", "toolId": "f", "parameters": {}, "session_id": "s" }),
        json!({ "type": "tool_result", "id": "2", "toolId": "f", "value": "a", "session_id": "s" }),
        json!({ "type": "completion", "finalText": "Done", "session_id": "s" }),
    ];
    let message = json!({ "role": "assistant", "content": [{ "type": "text", "text": "Done" }] });
    let pi = [
        json!({ "type": "agent_start" }),
        json!({ "type": "turn_start" }),
        json!({ "type": "message_end", "message": message }),
        json!({ "type": "tool_execution_start", "toolCallId": "1", "toolName": "f", "args": {} }),
        json!({ "type": "turn_end", "message": message, "toolResults": [] }),
        json!({ "type": "agent_end", "messages": [message] }),
    ];
    for (name, records) in [("gemini-cli", &gemini[..]), ("droid", &droid), ("pi", &pi)] {
        for length in 1..=records.len() {
            assert_eq!(import(&lines(&records[..length])).report.formats, [name]);
        }
    }
    // Another log may follow.
    let session =
        json!({ "type": "user", "sessionId": "s", "message": { "role": "user", "content": "Go" } });
    let both = import(&lines(&[&gemini[..], std::slice::from_ref(&session)].concat()));
    assert_eq!(both.report.formats, ["gemini-cli", "claude-code"]);
}

#[test]
fn logs_that_are_not_read_are_refused_by_name() {
    let telemetry = json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [
        { "body": { "stringValue": "claude_code.user_prompt" } },
    ] }] }] });
    let spans = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [
        { "traceId": "t", "spanId": "1", "name": "claude_code.interaction" },
    ] }] }] });
    let prompt = json!({ "sessionId": "s", "messageId": 0, "type": "user", "message": "Go" });
    for (log, name) in [
        (json!({ "kind": 0, "v": { "requests": [] } }), "VS Code"),
        (json!({ "kind": 2, "k": ["requests"], "v": [] }), "VS Code"),
        (json!({ "history": [{ "user": {}, "assistant": {} }] }), "Kiro"),
        (json!({ "messages": [{ "versions": [], "currentlySelected": 0 }] }), "LM Studio"),
        (json!([prompt, prompt]), "`logs.json`"),
        (
            json!({ "specversion": "1.0", "type": "user.message", "source": "/", "data": {} }),
            "CloudEvents",
        ),
        (json!({ "info": { "trace_id": "t" }, "data": { "spans": [] } }), "MLflow"),
        (
            json!({ "data": [{ "id": "t", "input": "Go", "output": [], "observations": ["o"] }] }),
            "Langfuse",
        ),
        (json!({ "id": "t", "input": "Go", "output": [], "observations": ["o"] }), "Langfuse"),
        (telemetry, "telemetry"),
        (spans, "telemetry"),
    ] {
        let found = refusal(&[log]);
        assert!(found.contains(name), "{found}");
    }
}

#[test]
fn wanted_format_is_named_beside_the_one_found() {
    let session =
        json!({ "type": "user", "sessionId": "s", "message": { "role": "user", "content": "Go" } });
    let options = Options { format: Some("codex".into()), ..importing::options() };
    let outcome = importing::import([session.to_string().as_bytes()], &options);
    let found = "the log: expected a log of the format codex, found claude-code";
    assert_eq!(outcome.errors().map(|error| &*error.message).collect::<Vec<_>>(), [found]);
}

#[test]
fn text_before_a_document_is_one_error() {
    let log = "Exporting\n{\n  \"messages\": [\n    { \"role\": \"user\", \"content\": \"Go\" },\n\
               { \"role\": \"assistant\", \"content\": \"Gone\" }\n  ]\n}\n";
    let outcome = importing::check(log.as_bytes(), 7, &importing::options());
    let errors: Vec<_> = outcome.errors().map(|error| (error.code, error.line)).collect();
    assert_eq!((errors, outcome.traces().count()), (vec![(Code::InvalidJson, Some(1))], 1));
    assert!(outcome.errors().next().unwrap().message.ends_with("must be removed"));
}
