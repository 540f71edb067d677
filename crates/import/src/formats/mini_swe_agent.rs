//! Trajectories of mini-swe-agent.

use std::sync::LazyLock;

use crate::{
    event::{Call, Event, Input, Run},
    failure,
    format::{Format, Output, ReadRuns},
    json::{self, Array, Members, Value},
    messages::{Conversation, Message, Messages},
    text,
};
use regex::Regex;

/// Files that end in `.traj.json`, and conversations with its commands.
pub(crate) const FORMAT: Format = Format {
    name: "mini-swe-agent",
    domain: "code",
    fits,
    adopts: false,
    open: || Box::new(Reader),
};

/// The command in an answer.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```")
        .expect("a valid expression")
});

fn fits(value: Value) -> bool {
    value.text("trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent"))
}

/// Returns whether the first answer of a conversation has a command that only mini-swe-agent asks for.
pub fn is_conversation(messages: Array) -> bool {
    let answer = messages.iter().find(|message| message.text("role") == Some("assistant"));
    let text = answer.and_then(|answer| answer.text("content"));
    text.is_some_and(|text| text.contains("```mswea_bash_command\n"))
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        let messages = value.as_array().or_else(|| value.list("messages"));
        let messages = messages.into_iter().flat_map(Array::iter);
        let mut conversation = Conversation::default();
        if messages.clone().any(has_tools) {
            for message in messages.filter(|message| message.text("role") != Some("exit")) {
                match message.list("output") {
                    Some(items) if message.text("object") == Some("response") => {
                        conversation.read_answer(Messages::Array(items));
                    }
                    _ => conversation.read(Message::Recorded(message)),
                }
            }
        } else {
            let mut has_task = false;
            for message in messages {
                read_text(message, &mut conversation, &mut has_task);
            }
        }
        out.run(Run {
            line,
            status: Run::status_of_exit(value.object("info"), "Submitted"),
            events: conversation.events,
            skipped: conversation.skipped,
            ..Run::default()
        });
    }
}

/// Returns whether a message has calls of its own, or is an item of the Responses API.
fn has_tools(message: Value) -> bool {
    message.list("tool_calls").is_some_and(|calls| !calls.is_empty())
        || message.text("type").is_some()
        || message.text("object") == Some("response")
}

/// Reads a message of a conversation where commands stand in the text. `has_task` tells whether a person
/// has said anything before.
fn read_text(message: Value, conversation: &mut Conversation, has_task: &mut bool) {
    let Some(role) = message.text("role") else { return conversation.skipped.add("malformed") };
    match role {
        "system" => conversation.read(Message::Recorded(message)),
        "user" if !*has_task => {
            conversation.read(Message::Recorded(message));
            *has_task = matches!(conversation.events.last(), Some(Event::Human(_)));
        }
        "user" => {
            let read = |content| text::of(content, &mut conversation.skipped);
            let result = message.member("content").map(read).unwrap_or_default();
            let code = message.object("extra").and_then(|extra| extra.get("returncode")?.as_i64());
            let failed = code
                .map(|code| code != 0)
                .or_else(|| failure::flag(message))
                .or(result.failed)
                .unwrap_or_else(|| failure::in_text(&result.text));
            conversation.events.push(Event::result(result.text, failed));
        }
        "assistant" => {
            let read = |content| text::of(content, &mut conversation.skipped);
            let answer = message.member("content").map(read).unwrap_or_default();
            read_answer(&answer.text, conversation);
        }
        _ => conversation.skipped.add(format!("role:{role}")),
    }
}

fn read_answer(answer: &str, conversation: &mut Conversation) {
    let Some(found) = COMMAND.captures(answer) else { return say(answer, conversation) };
    let (block, command) = (found.get_match(), found.get(1).map_or("", |command| command.as_str()));
    say(&answer[..block.start()], conversation);
    let turn = conversation.next_turn();
    let input = Input::of_text("command", command);
    conversation.events.push(Event::Call(Call::new(Some("bash"), input, None, turn)));
    say(&answer[block.end()..], conversation);
}

fn say(text: &str, conversation: &mut Conversation) {
    if !json::is_blank(text) {
        conversation.events.push(Event::said(text));
    }
}
