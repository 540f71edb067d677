//! Sessions of Factory Droid, and the output of `droid exec`.
//!
//! | Factory Droid: session files; `droid exec --output-format stream-json` | a session | |
//!
//! - session files | | 2026-11-26 | written
//! - older session files, whose records are messages | | 2026-11-28 | written
//! - session files and streams in the tests of agent-sessions | 651e854f | 2026-11-28 | written

use super::{claude_code::USAGE, cursor, pi};
use crate::prelude::*;

pub const FORMAT: Format = Format::code("droid", fits, || {
    sessions(Rules {
        begins: |(), record, open| {
            let kind = record.text("type");
            if kind == Some("session_start") {
                return Some(record.first_name(&["id", "sessionId"]));
            }
            another(Some(of_stream(record, kind)?), open)
        },
        takes: |(), record, kind| takes(record, kind),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind == Some("session_start") && record.first_name(&["id", "sessionId"]).is_some()
        || of_stream(record, kind).is_some()
}

/// Returns the id of the session in a record that only a stream has.
fn of_stream<'d>(record: Value<'d>, kind: Option<&str>) -> Option<&'d str> {
    let is_own = match kind? {
        "system" => {
            // Claude Code's first record is like it.
            let of_claude = ["uuid", "apiKeySource", "mcp_servers", "permissionMode"];
            record.has("reasoning_effort")
                || (["cwd", "model", "tools"].iter().all(|name| record.has(name))
                    && !of_claude.iter().any(|name| record.has(name)))
        }
        "message" => record.text("role").and(record.text("text")).is_some(),
        "tool_call" => record.first_name(&["toolName", "toolId"]).is_some(),
        "completion" => record.text("finalText").is_some(),
        _ => false,
    };
    record.first_name(&["session_id", "sessionId"]).filter(|_| is_own)
}

fn takes(record: Value, kind: &str) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| record.has(name));
    let is_of_stream = has(&["session_id", "sessionId"]);
    match kind {
        // The last ones are older session files, whose records are messages.
        "message" if record.object("message").is_none() => {
            (is_of_stream && has(&["text"]))
                || ["timestamp", "role", "content"].iter().all(|name| record.has(name))
        }
        "message" => true,
        "tool_call" | "tool_result" => is_of_stream && has(&["toolCallId", "toolId"]),
        "system" | "completion" => of_stream(record, Some(kind)).is_some(),
        "error" => is_of_stream && has(&["source"]),
        kind => kind.ends_with("_state"),
    }
}

fn read(record: Value, run: &mut Run) {
    run.harness = Harness::Droid;
    if record.first(&["session_id", "sessionId"]).is_some() && !record.has("message") {
        read_event(record, run);
    } else {
        pi::read_message(record, &["user", "assistant"], run);
    }
}

/// Reads a record of a stream.
fn read_event(record: Value, run: &mut Run) {
    let id = record.first_name(&["toolCallId", "id"]);
    match (record.text("type").unwrap_or("?"), record.text("role")) {
        ("message", Some("user" | "assistant")) => run.read_message(record),
        ("tool_call", _) => {
            let input = CallInput::recorded(record.member("parameters"));
            run.tool_call(record.first_name(&["toolName", "toolId"]), input, id);
        }
        ("tool_result", _) => {
            run.end_turn();
            let value = record.member("value").or_else(|| record.member("error"));
            let failed = flag(record).or_else(|| has_failed(value.get("exitCode")));
            let output = cursor::output(value, &mut run.skipped);
            run.tool_result(id, output, failed);
        }
        ("completion", _) => {
            let text = record.text("finalText").unwrap_or_default();
            let is_last =
                |event: &Event| matches!(event, Event::Thought { text: last, .. } if last == text);
            if run.events.last().is_some_and(is_last) {
                run.skipped.add("repeated");
            } else {
                run.events.push(Event::said(text));
            }
            run.facts.add(Tokens::of(record.object("usage"), USAGE));
        }
        (kind, _) => {
            run.facts.model(record.name("model"));
            run.facts.place(record.name("cwd"), None);
            run.has_failed |= kind == "error";
            run.skipped.add_record(kind);
        }
    }
}
