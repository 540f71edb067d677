//! The output of `gemini --output-format stream-json`, whose texts come in pieces.

use crate::prelude::*;

const USAGE: [&str; 4] = ["input_tokens", "output_tokens", "cached", ""];

/// Returns whether only this stream has a record. Others of a session are like those of other formats.
pub(super) fn fits(record: Value, kind: Option<&str>) -> bool {
    match kind {
        Some("init") => record.name("session_id").and(record.name("model")).is_some(),
        Some("tool_use") => record.name("tool_name").and(record.name("tool_id")).is_some(),
        _ => false,
    }
}

/// Returns the session that a record begins.
pub(super) fn begins(record: Value<'_>) -> Option<&str> {
    record.name("session_id").filter(|_| record.text("type") == Some("init"))
}

pub(super) fn read(record: Value, run: &mut Run) {
    let kind = record.text("type").unwrap_or("?");
    let content = record.text("content").filter(|_| kind == "message");
    if let (Some(text), Some("assistant")) = (content, record.text("role")) {
        if record.flag("delta") != Some(true) {
            run.events.end_text();
        }
        return run.events.push_piece(text, true);
    }
    run.events.end_text();
    let id = record.name("tool_id");
    if kind != "tool_use" {
        run.end_turn();
    }
    match (kind, content) {
        ("message", Some(text)) if record.text("role") == Some("user") => {
            run.say_human(&[text]);
        }
        ("tool_use", _) => {
            let input = CallInput::recorded(record.member("parameters"));
            run.tool_call(record.name("tool_name"), input, id);
        }
        ("tool_result", _) => {
            let failed = record.text("status") == Some("error");
            let error = record.object("error").member("message").filter(|_| failed);
            let output = text_of(error.or(record.member("output")), &mut run.skipped);
            run.tool_result(id, output, Some(failed));
        }
        ("init", _) => run.facts.model(record.name("model")),
        ("result", _) => {
            run.has_failed |= record.text("status") == Some("error");
            let stats = record.object("stats");
            run.facts.add(Tokens::of(stats, USAGE).map(Tokens::without_cache));
            let models = stats.object("models").into_iter().flat_map(Value::members);
            models.for_each(|(name, _)| run.facts.model(Some(name)));
            run.skipped.add("record:result");
        }
        ("message", _) => run.skipped.add("malformed"),
        (kind, _) => run.skipped.add_record(kind),
    }
}
