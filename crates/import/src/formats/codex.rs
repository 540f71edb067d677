//! Sessions of Codex.

use super::sessions::Sessions;
use crate::{
    event::Skipped,
    format::{Format, Output, ReadRuns},
    json::{Members, Value},
    messages::{Conversation, Message},
    text,
};

/// Session files, called rollouts.
pub(crate) const FORMAT: Format = Format {
    name: "codex",
    domain: "code",
    fits,
    adopts: true,
    open: || Box::new(Reader::default()),
};

/// How user messages begin that Codex wrote itself.
const CONTEXT: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
];

fn fits(record: Value) -> bool {
    let kinds = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    record.text("type").is_some_and(|kind| kinds.contains(&kind))
        && record.object("payload").is_some()
}

#[derive(Default)]
struct Reader {
    sessions: Sessions,
}

impl ReadRuns for Reader {
    fn read(&mut self, record: Value, line: u64, out: &mut Output) {
        let kind = record.text("type").unwrap_or_default();
        if kind == "session_meta" {
            let id = record.object("payload").and_then(|payload| payload.name("id"));
            self.sessions.begin(id, line, out);
        }
        self.sessions.read(record, line, out, |conversation| match kind {
            "response_item" => read_item(record.get("payload"), conversation),
            kind => conversation.skipped.add(format!("record:{kind}")),
        });
    }

    fn finish(&mut self, out: &mut Output) {
        self.sessions.finish(out);
    }
}

/// Reads an item of the Responses API.
fn read_item(item: Option<Value>, conversation: &mut Conversation) {
    let Some(item) = item.and_then(Value::as_object) else {
        return conversation.skipped.add("malformed");
    };
    let message = Message::Item(item);
    if is_context(item) {
        conversation.skipped.add("context");
    } else if message.is_valid() {
        conversation.read(message);
    } else {
        conversation.skipped.add(format!("part:{}", message.kind()));
    }
}

/// Returns whether an item is a user message that no person wrote.
fn is_context(item: Value) -> bool {
    let content = item.member("content").filter(|_| item.text("role") == Some("user"));
    let text = content.map(|content| text::of(content, &mut Skipped::default()).text);
    text.is_some_and(|text| CONTEXT.iter().any(|begin| text.starts_with(begin)))
}
