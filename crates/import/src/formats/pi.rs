//! Sessions of Pi and of OpenClaw.
//!
//! | Pi, OpenClaw | a session | |
//!
//! - sessions of Pi | | 2026-11-22 | written

use crate::{
    format::{Format, open},
    json::{Members, Value},
    run::Run,
    sessions::{self, Sessions},
};

pub const FORMAT: Format =
    Format { name: "pi", domain: "code", fits, open: open::<Sessions<Session>> };

fn fits(record: Value) -> bool {
    match record.text("type") {
        Some("session") => record.has("id"),
        Some("message") => record.object("message").is_some(),
        _ => false,
    }
}

#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn begins<'d>(record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        (record.text("type")? == "session").then(|| record.name("id"))
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        let kind = record.text("type").unwrap_or_default();
        let message = record.object("message");
        let role = message.text("role");
        match (kind, message, role) {
            ("message", Some(message), Some("user" | "assistant" | "toolResult")) => {
                run.read_message(message);
            }
            ("message", _, Some(role)) => run.skipped.add(format!("role:{role}")),
            ("message", ..) => run.skipped.add("malformed"),
            (kind, ..) => run.skipped.add(format!("record:{kind}")),
        }
    }
}
