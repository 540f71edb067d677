//! Transcripts of Cursor's agent, and the output of `cursor-agent --output-format stream-json`.
//!
//! | Cursor: agent transcripts (`.jsonl`), which seldom have results; `cursor-agent --output-format stream-json` | a file; a session of a stream | an error of the `result` record |
//!
//! - transcripts in the tests of agent-sessions | 651e854f | 2026-11-22 | captured
//! - `cursor-agent --output-format stream-json` | 2026.05 | 2026-11-26 | written

mod stream;

pub use self::stream::output;

use super::claude_code::read_end;
use crate::{messages::content, prelude::*};

/// Cursor's placeholder for hidden text.
const REDACTED: &str = "[REDACTED]";

pub const FORMAT: Format = Format::code("cursor", fits, || {
    sessions(Rules {
        begins: |_, record, open| {
            let is_of_stream = stream::fits(record, record.text("type"));
            another(record.name("session_id"), open).filter(|_| is_of_stream)
        },
        takes: |session: &Session, record, kind| {
            let stream = session.stream.as_deref();
            let is_of_stream = || stream.is_some() && record.name("session_id") == stream;
            !kind.is_empty() && is_of_stream() || kind == "turn_ended"
        },
        time: |record| {
            record.first(&["timestamp", "timestamp_ms"]).filter(|_| record.has("session_id"))
        },
        ..Rules::of(Session::read)
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    is_line(record) || stream::fits(record, kind)
}

/// Returns whether a record is a line of a transcript.
fn is_line(record: Value) -> bool {
    matches!(record.text("role"), Some("user" | "assistant"))
        && record.object("message").has("content")
        && !record.has("type")
}

/// The session of a stream, or the one run of a transcript.
#[derive(Default)]
pub struct Session {
    /// The id of the session of a stream.
    stream: Option<String>,
}

impl State for Session {}

impl Session {
    fn read(&mut self, record: Value, run: &mut Run) {
        let is_of_stream = stream::fits(record, record.text("type"));
        if is_of_stream {
            self.stream = record.name("session_id").map(Into::into);
        }
        let kind = record.text("type").unwrap_or("?");
        if let ("thinking", Some(text)) = (kind, record.text("text")) {
            return run.events.push_piece(text, false);
        }
        run.events.end_text();
        let is_message =
            is_line(record) || (self.stream.is_some() && matches!(kind, "user" | "assistant"));
        if let Some(call) = record.object("tool_call").filter(|_| is_of_stream) {
            read_call(record, call, run);
        } else if let Some(message) = record.object("message").filter(|_| is_message) {
            read_message(message, record.first_name(&["type", "role"]), run);
        } else {
            if kind == "result" {
                read_end(record, run);
            }
            run.skipped.add_record(kind);
        }
    }
}

/// Reads a call, which comes again when it is completed.
fn read_call(record: Value, call: Value, run: &mut Run) {
    let id = record.name("call_id");
    let new = stream::call(call, id, run.turn_of(record.name("model_call_id")));
    let is_complete = record.text("subtype") == Some("completed");
    let result = if is_complete { stream::result(call, run) } else { None };
    let result = result.map(|result| Event::Result(new.answer(result)));
    let next = run.events.len() as u32;
    match id.map(|id| run.places.get_or_insert(Some(id), || next)).filter(|at| *at < next) {
        // The call of a tool of MCP may come with its result alone.
        Some(at) if new.input.count() > 1 => {
            let turn = run.events[at as usize].call().map_or(new.turn, |call| call.turn);
            run.events.replace(at as usize, Event::Call(Call { turn, ..new }));
        }
        Some(_) => {}
        None => run.events.push(Event::Call(new)),
    }
    if let Some(id) = id.filter(|_| is_complete) {
        run.places.remove(id);
    }
    run.events.extend(result);
}

fn read_message(message: Value, role: Option<&str>, run: &mut Run) {
    run.end_turn();
    if role == Some("user") {
        run.harness = Harness::Cursor;
        run.read_user(content(message));
    } else {
        let begin = run.events.len();
        run.read_assistant(Some(message), content(message));
        run.amend(begin, is_shown);
    }
}

/// Removes placeholders of hidden text. Returns whether any text is left.
fn is_shown(event: &mut Event, skipped: &mut Skipped) -> bool {
    let Event::Thought { text, .. } = event else { return true };
    let count = text.matches(REDACTED).count();
    if count == 0 {
        return true;
    }
    skipped.add_many("redacted", count as u64);
    *text = text.replace(REDACTED, "");
    !json::is_blank(text)
}
