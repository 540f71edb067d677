//! Sessions of Factory Droid.
//!
//! | Factory Droid: session files | a session | |
//!
//! - session files | | 2026-11-26 | written
//! - older session files, whose records are messages | | 2026-11-28 | written

use std::mem;

use super::{claude_code::without_reminders, pi};
use crate::{
    call::ToolResult,
    events::Event,
    format::{Format, open},
    json::{Members, Value, trimmed},
    run::Run,
    sessions::{self, Sessions},
};

pub const FORMAT: Format =
    Format { name: "droid", domain: "code", fits, open: open::<Sessions<Session>> };

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind == Some("session_start") && id(record).is_some()
}

/// Returns the id of the session that a record begins.
fn id(record: Value<'_>) -> Option<&str> {
    record.text("type").filter(|kind| *kind == "session_start")?;
    record.first_name(&["id", "sessionId"])
}

#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn begins<'d>(&self, record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        id(record).map(Some)
    }

    fn takes(&self, record: Value, kind: &str) -> bool {
        let is_bare = || ["timestamp", "role", "content"].iter().all(|name| record.has(name));
        (kind == "message" && (record.object("message").is_some() || is_bare()))
            || kind.ends_with("_state")
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        let begin = run.events.len();
        pi::read(record, &["user", "assistant"], run);
        run.amend(begin, |event, skipped| {
            let is_human = event.human().is_some();
            let (Event::Human(text) | Event::Result(ToolResult { text, .. })) = event else {
                return true;
            };
            let length = text.len();
            *text = without_reminders(mem::take(text), skipped);
            if is_human && text.len() < length {
                *text = trimmed(text).into();
            }
            !is_human || !text.is_empty() || length == 0
        });
    }
}
