//! Sessions of Pi and of OpenClaw.

use super::sessions::Sessions;
use crate::{
    format::{Format, Output, ReadRuns},
    json::{Members, Value},
    messages::Message,
};

/// Session files.
pub(crate) const FORMAT: Format =
    Format { name: "pi", domain: "code", fits, adopts: true, open: || Box::new(Reader::default()) };

fn fits(record: Value) -> bool {
    match record.text("type") {
        Some("session") => record.has("id"),
        Some("message") => record.object("message").is_some(),
        _ => false,
    }
}

#[derive(Default)]
struct Reader {
    sessions: Sessions,
}

impl ReadRuns for Reader {
    fn read(&mut self, record: Value, line: u64, out: &mut Output) {
        let kind = record.text("type").unwrap_or_default();
        if kind == "session" {
            self.sessions.begin(record.name("id"), line, out);
        }
        self.sessions.read(record, line, out, |conversation| {
            let message = record.object("message");
            let role = message.and_then(|message| message.text("role"));
            match (kind, message, role) {
                ("message", Some(message), Some("user" | "assistant" | "toolResult")) => {
                    conversation.read(Message::Recorded(message));
                }
                ("message", _, Some(role)) => conversation.skipped.add(format!("role:{role}")),
                ("message", ..) => conversation.skipped.add("malformed"),
                (kind, ..) => conversation.skipped.add(format!("record:{kind}")),
            }
        });
    }

    fn finish(&mut self, out: &mut Output) {
        self.sessions.finish(out);
    }
}
