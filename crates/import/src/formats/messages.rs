//! Chat messages, requests and responses.

use super::sessions::Sessions;
use crate::{
    event::Run,
    format::{Format, Output, ReadRuns},
    json::{Array, Members, Value},
    messages::{Conversation, Message, Messages, Side, is_message, of},
    time,
};

/// Conversations: an array, an object with messages, or a message a line.
pub(crate) const FORMAT: Format = Format {
    name: "messages",
    domain: "general",
    fits,
    adopts: false,
    open: || Box::new(Reader::default()),
};

fn fits(object: Value) -> bool {
    is_whole(object) || is_message(object)
}

/// Returns whether an object is a conversation, and not a message of one.
fn is_whole(object: Value) -> bool {
    let is_list = |name| object.list(name).is_some();
    let has_input = is_list("input") || object.text("input").is_some();
    ["messages", "contents", "choices"].into_iter().any(is_list)
        || (is_list("output") && (has_input || object.text("object") == Some("response")))
        || (object.object("request").is_some() && object.object("response").is_some())
}

#[derive(Default)]
struct Reader {
    /// The conversation that consists of the single messages of an input.
    single: Sessions,
}

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        match value.as_object() {
            Some(object) if !is_whole(object) => {
                self.single.read(object, line, out, |conversation| {
                    conversation.read(Message::Recorded(object));
                });
            }
            _ => out.run(run(value, line)),
        }
    }

    fn finish(&mut self, out: &mut Output) {
        self.single.finish(out);
    }
}

fn run(value: Value, line: u64) -> Run {
    let mut conversation = Conversation::default();
    let input = match value.first(&["messages", "contents", "input"]) {
        _ if value.is_array() => of(value, Side::Input),
        None => value.member("request").and_then(|request| of(request, Side::Input)),
        Some(input) => Some(match input.as_array() {
            Some(messages) => Messages::Array(messages),
            None => Messages::One(Message::Content("user", Some(input))),
        }),
    };
    if let Some(input) = input {
        conversation.read_all(input);
    }
    let answer = value
        .member("response")
        .or_else(|| value.member("output").filter(|output| output.is_array()))
        .or_else(|| value.get("choices").map(|_| value));
    if let Some(messages) = answer.and_then(|answer| of(answer, Side::Output)) {
        conversation.read_answer(messages);
    }
    let Conversation { events, skipped, .. } = conversation;
    let created_at = value.first(&["created_at", "timestamp", "created"]).and_then(time::utc);
    let mut run = Run { line, created_at, events, skipped, ..Run::default() };
    let answer = value.member("response").unwrap_or(value);
    let choice = answer.list("choices").and_then(Array::first);
    run.logprobs.add(choice.and_then(|choice| choice.member("logprobs")?.member("content")));
    run
}
