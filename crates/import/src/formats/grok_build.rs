//! Sessions of Grok Build.
//!
//! | Grok Build: `chat_history.jsonl` | a session | |
//!
//! - `ConversationItem` of `xai-grok-sampling-types` | chat format 1 | 2026-11-29 | source
//! - a session | | 2026-11-29 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("grok-build", fits, || {
    sessions(Rules {
        begins: |(), record, _| (record.text("type") == Some("system")).then_some(None),
        takes: |(), record, kind| {
            fits(record, Some(kind)) || (kind == "reasoning" && record.list("summary").is_some())
        },
        ..Rules::of(|(), record, run| read(record, run))
    })
});

pub fn fits(record: Value, kind: Option<&str>) -> bool {
    let is_part = |part: Value| part.has("type");
    let others = ["id", "message", "role", "timestamp", "uuid"];
    if others.iter().any(|name| record.has(name)) {
        return false;
    }
    match kind {
        Some("system") => record.text("content").is_some() && record.members().count() == 2,
        Some("user") => {
            record.list("content").and_then(Array::first).is_some_and(is_part)
                || record.has("synthetic_reason")
        }
        Some("assistant") => record.text("content").is_some(),
        Some("tool_result") => record.name("tool_call_id").is_some(),
        Some("backend_tool_call") => record.object("kind").text("tool_type").is_some(),
        _ => false,
    }
}

fn read(record: Value, run: &mut Run) {
    match record.text("type") {
        Some("user") => read_user(record, run),
        Some("tool_result") => {
            run.read_as(Some("tool"), None, record);
            run.skipped.add_many("part:image", record.elements("images").count() as u64);
        }
        Some("backend_tool_call") => {
            let call = record.object("kind").unwrap_or(record);
            // The search of X is a custom tool of the Responses API.
            let kind = match call.text("tool_type") {
                Some("x_search") => "custom_tool_call",
                Some("code_interpreter") => "code_interpreter_call",
                _ => "web_search_call",
            };
            run.read_as(None, Some(kind), call);
        }
        kind => {
            run.facts.model(record.name("model_id"));
            run.read_as(None, kind, record);
        }
    }
}

/// Reads what a person wrote, in the frame that the program gives it, or what the program wrote itself.
fn read_user(record: Value, run: &mut Run) {
    run.facts.interruptions += u64::from(record.has("prior_turn_interrupt"));
    match record.name("synthetic_reason") {
        None | Some("human" | "interjection") => {}
        Some("compaction_meta") => return run.skipped.add("compact_summary"),
        Some(_) => return run.skipped.add("context"),
    }
    run.read_user(record.member("content"));
}
