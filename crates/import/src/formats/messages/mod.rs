//! Chat messages of every dialect: OpenAI, Anthropic, Gemini, the Responses API, the AI SDK, LangChain.

mod conversation;
mod items;
mod message;
mod tool_part;

pub use self::{
    conversation::{call_of_part, content, is_result_type, parts, result_of_part},
    message::{
        Messages, Side, Sides, content_of, human, is_message, is_readable, messages_of, unwrapped,
        with_role,
    },
};
use super::runs::Session;
use crate::{
    events::Run,
    format::Runs,
    json::{Array, Members, Value},
    time,
};

pub fn fits(object: Value) -> bool {
    is_whole(object) || is_message(object)
}

/// Returns whether an object is a conversation, not a single message.
fn is_whole(object: Value) -> bool {
    let is_list = |name| object.list(name).is_some();
    let has_input = is_list("input") || object.text("input").is_some();
    ["messages", "contents", "choices"].into_iter().any(is_list)
        || (is_list("output") && (has_input || object.text("object") == Some("response")))
        || (object.object("request").is_some() && object.object("response").is_some())
}

#[derive(Default)]
pub struct Conversation;

impl Session for Conversation {
    fn read_whole(value: Value, out: &mut Runs) -> bool {
        let is_whole = value.as_object().is_none_or(is_whole);
        if is_whole {
            out.conversation(run(value, out.line));
        }
        is_whole
    }

    fn time(message: Value<'_>) -> Option<Value<'_>> {
        message.first(&["timestamp", "createdAt"])
    }

    fn read(&mut self, message: Value, run: &mut Run) {
        run.read_message(message);
    }
}

fn run(value: Value, line: u64) -> Run {
    let mut run = Run::at(line);
    let input = match value.first(&["messages", "contents", "input"]) {
        _ if value.is_array() => messages_of(value, Side::Input),
        None => value.member("request").and_then(|request| messages_of(request, Side::Input)),
        Some(input) => {
            input.as_array().map(Messages::Recorded).or_else(|| content_of(Side::Input, input))
        }
    };
    let answer = value
        .member("response")
        .or_else(|| value.member("output").filter(|output| output.is_array()))
        .or_else(|| value.get("choices").map(|_| value));
    let sides = [input, answer.and_then(|answer| messages_of(answer, Side::Output))];
    run.read_sides(&sides);
    let time = value.first(&["created_at", "timestamp", "created"]).and_then(time::utc);
    let created_at = |message: Value| message.member("createdAt").and_then(time::utc);
    run.created_at = time.or_else(|| sides[0].as_ref()?.iter().find_map(created_at));
    let answer = value.member("response").unwrap_or(value);
    let choice = answer.list("choices").and_then(Array::first);
    run.logprobs.add(choice.member("logprobs").member("content"));
    run
}
