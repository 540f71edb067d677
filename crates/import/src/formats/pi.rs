//! Sessions of Pi and of OpenClaw.

use serde_json::Value;

use super::sessions::Sessions;
use crate::format::{Format, Output, ReadRuns};
use crate::json::{Members, Object};

/// Session files.
pub(crate) const FORMAT: Format =
    Format { name: "pi", domain: "code", fits, adopts: true, open: || Box::new(Reader::default()) };

fn fits(record: &Object) -> bool {
    match record.text("type") {
        Some("session") => record.contains_key("id"),
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
        self.sessions.read(&record, line, out, |conversation| {
            let message = record.object("message");
            match (kind, message.and_then(|message| message.text("role"))) {
                ("message", Some("user" | "assistant" | "toolResult")) => {
                    conversation.read(&record["message"]);
                }
                ("message", Some(role)) => conversation.skipped.add(format!("role:{role}")),
                ("message", None) => conversation.skipped.add("malformed"),
                (kind, _) => conversation.skipped.add(format!("record:{kind}")),
            }
        });
    }

    fn finish(&mut self, out: &mut Output) {
        self.sessions.finish(out);
    }
}
