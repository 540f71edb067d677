//! Files beside the conversation of Cline or Roo, which itself has the format `messages`.
//!
//! | Cline, Roo: `ui_messages.json` and `task_metadata.json`, which are skipped; the conversation beside them has the format `messages` | | |
//!
//! - files of a task, compared with the source of Cline | | 2026-11-22 | written

use crate::{
    format::{Format, Sink},
    json::{Members, Value},
};

pub const FORMAT: Format = Format { name: "cline", domain: "code", fits, open: || Box::new(read) };

fn fits(object: Value, kind: Option<&str>) -> bool {
    object.list("files_in_context").is_some()
        || (matches!(kind, Some("say" | "ask")) && object.has("ts"))
}

fn read(value: Value, out: &mut Sink) {
    out.skip(match value.list("files_in_context") {
        Some(_) => "task_metadata",
        None => "ui_message",
    });
}
