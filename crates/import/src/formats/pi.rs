//! Sessions of Pi and of OpenClaw, and the output of `pi --mode json`.
//!
//! | Pi, OpenClaw: session files; `pi --mode json` | a session | an error of the last answer |
//!
//! - sessions of Pi | | 2026-11-22 | written
//! - deliveries of OpenClaw | 2026.2 | 2026-11-28 | written
//! - `pi --mode json` | 83378aad | 2026-11-28 | source

use crate::prelude::*;

pub const FORMAT: Format = Format::code("pi", fits, || {
    sessions(Rules {
        begins: |(), record, _| (record.text("type")? == "session").then(|| record.name("id")),
        takes: |(), record, kind| takes(record, kind),
        time: |record| {
            record.member("timestamp").or_else(|| record.object("message")?.member("timestamp"))
        },
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    match kind {
        Some("session") => record.has("id"),
        Some("message") => record.object("message").is_some(),
        Some("agent_start") => true,
        Some("message_end") => record.object("message").is_some_and(|own| !own.has("type")),
        _ => false,
    }
}

/// How the types of events begin. `message_end` has a whole message; others repeat it.
const EVENTS: [&str; 5] = ["message_", "turn_", "agent_", "tool_execution_", "auto_"];

fn takes(record: Value, kind: &str) -> bool {
    fits(record, Some(kind))
        || matches!(kind, "model_change" | "thinking_level_change" | "compaction" | "custom")
        || (EVENTS.iter().any(|begin| kind.starts_with(begin)) && !record.has("spanId"))
        || (record.has("parentId") && !kind.is_empty() && !record.has("data"))
}

fn read(record: Value, run: &mut Run) {
    const USAGE: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];
    run.harness = Harness::OpenClaw;
    let kind = record.text("type").unwrap_or_default();
    let is_event = EVENTS.iter().any(|begin| kind.starts_with(begin));
    if is_event && kind != "message_end" {
        return run.skipped.add_record(kind);
    }
    let message = record.object("message");
    let is_mirror = message.text("provider") == Some("openclaw")
        && message.text("model") == Some("delivery-mirror");
    if is_mirror {
        // What OpenClaw delivered of an answer.
        return run.skipped.add("repeated");
    }
    run.facts.add(Tokens::of(message.object("usage"), USAGE));
    match record.text("type") {
        Some("session") => run.facts.place(record.name("cwd"), None),
        Some("model_change") => run.facts.model(record.name("modelId")),
        _ => run.facts.model(message.name("model")),
    }
    let end = message.text("stopReason");
    run.facts.interruptions += u64::from(end == Some("aborted"));
    if message.text("role") == Some("assistant") {
        run.has_failed = end == Some("error");
    }
    read_message(record, &["user", "assistant", "toolResult"], run);
}

/// Reads a record, which may be a message of one of these roles.
pub fn read_message(record: Value, roles: &[&str], run: &mut Run) {
    let kind = record.text("type").unwrap_or_default();
    // Droid's older sessions have the members of a message in the record.
    let message = record.object("message").or(record.get("role").and(Some(record)));
    if message.text("role") == Some("system") {
        run.instruct(message.member("content"));
    }
    let kind = if kind == "message_end" { "message" } else { kind };
    match (kind, message, message.text("role")) {
        ("message", Some(message), Some(role)) if roles.contains(&role) => {
            run.read_message(message);
        }
        ("message", _, role) => run.skipped.add_role(role),
        (kind, ..) => run.skipped.add_record(kind),
    }
}
