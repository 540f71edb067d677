//! Sessions of Codex.
//!
//! | Codex: session files | a session | |
//!
//! - rollouts in the tests of agentsview | aea2eb12 | 2026-11-22 | captured

use crate::{
    format::{Format, open},
    json::{Members, Value},
    messages::is_readable,
    run::Run,
    sessions::{self, Sessions},
    skipped::Skipped,
    text::text_of,
};

/// The beginnings of user messages that Codex wrote itself.
const CONTEXT: [&str; 8] = [
    "<environment_context>", "<user_instructions>", "<permissions instructions>",
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "<skill>",
    "<user_shell_command>",
];

pub const FORMAT: Format =
    Format { name: "codex", domain: "code", fits, open: open::<Sessions<Session>> };

fn fits(record: Value) -> bool {
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    record.text("type").is_some_and(|kind| kinds.contains(&kind))
        && record.object("payload").is_some()
}

#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn begins<'d>(record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        (record.text("type")? == "session_meta").then(|| record.object("payload").name("id"))
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        match (record.text("type").unwrap_or_default(), record.object("payload")) {
            ("response_item", Some(item)) => read_item(item, run),
            ("response_item", None) => run.skipped.add("malformed"),
            (kind, _) => run.skipped.add(format!("record:{kind}")),
        }
    }
}

fn read_item(item: Value, run: &mut Run) {
    let (role, kind) = (item.text("role"), item.text("type").unwrap_or("message"));
    if is_context(item) {
        run.skipped.add("context");
    } else if is_readable(role, kind, item) {
        run.read_as(role, Some(kind), item);
    } else {
        run.skipped.add(format!("part:{kind}"));
    }
}

fn is_context(item: Value) -> bool {
    let content = item.member("content").filter(|_| item.text("role") == Some("user"));
    let text = content.map(|content| text_of(content, &mut Skipped::default()).text);
    text.is_some_and(|text| CONTEXT.iter().any(|begin| text.starts_with(begin)))
}
