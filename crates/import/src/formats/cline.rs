//! Files beside the conversation of Cline or Roo, which itself has the format `messages`.

use crate::{
    format::Runs,
    json::{Members, Value},
};

pub fn fits(object: Value) -> bool {
    object.list("files_in_context").is_some()
        || (matches!(object.text("type"), Some("say" | "ask")) && object.has("ts"))
}

pub fn read(value: Value, out: &mut Runs) {
    out.skip(match value.list("files_in_context") {
        Some(_) => "task_metadata",
        None => "ui_message",
    });
}
