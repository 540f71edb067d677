//! Sessions of Pi and of OpenClaw.

use super::{
    messages::Message,
    runs::{SessionReader, Sessions},
};
use crate::{
    events::Run,
    json::{Members, Value},
};

pub fn fits(record: Value) -> bool {
    match record.text("type") {
        Some("session") => record.has("id"),
        Some("message") => record.object("message").is_some(),
        _ => false,
    }
}

pub fn reader() -> SessionReader {
    SessionReader { begins, read, sessions: Sessions::default() }
}

fn begins(record: Value<'_>) -> Option<Option<&str>> {
    (record.text("type")? == "session").then(|| record.name("id"))
}

fn read(record: Value, run: &mut Run) {
    let kind = record.text("type").unwrap_or_default();
    let message = record.object("message");
    let role = message.and_then(|message| message.text("role"));
    match (kind, message, role) {
        ("message", Some(message), Some("user" | "assistant" | "toolResult")) => {
            run.read_message(Message::Recorded(message));
        }
        ("message", _, Some(role)) => run.skipped.add(format!("role:{role}")),
        ("message", ..) => run.skipped.add("malformed"),
        (kind, ..) => run.skipped.add(format!("record:{kind}")),
    }
}
