//! Sessions of Qwen Code.
//!
//! | Qwen Code: session files | a session | |
//!
//! - session files | 0.21 | 2026-11-26 | written

use super::gemini_cli::read_user;
use crate::prelude::*;

pub const FORMAT: Format = Format::code("qwen-code", fits, || {
    sessions(Rules {
        begins: |(), record, open| another(record.name("sessionId"), open),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    let is_record = match kind {
        Some("system") if record.object("systemPayload").is_some() => true,
        Some("user" | "assistant" | "tool_result" | "system") => parts(record).is_some(),
        _ => false,
    };
    is_record && record.name("uuid").and(record.name("sessionId")).is_some()
}

fn parts(record: Value<'_>) -> Option<Value<'_>> {
    record.object("message").member("parts").filter(|parts| parts.is_array())
}

fn read(record: Value, run: &mut Run) {
    match record.text("type").unwrap_or_default() {
        "user" if matches!(record.text("subtype"), Some("notification" | "cron")) => {
            run.skipped.add("context");
        }
        "user" => read_user(parts(record), None, run),
        "tool_result" => {
            let status = record.object("toolCallResult").text("status");
            let has_failed = matches!(status, Some("error" | "cancelled"));
            read_user(parts(record), has_failed.then_some(true), run);
        }
        "assistant" => {
            let turn = run.turn_of(record.name("uuid"));
            run.read_content(parts(record), turn);
        }
        kind => run.skipped.add_record(kind),
    }
}
