//! Trajectories of mini-swe-agent.
//!
//! | mini-SWE-agent | a trajectory | an exit status other than `Submitted` |
//!
//! - trajectories | format 1.1 | 2026-11-22 | written

use super::{messages, swe_agent, vscode_chat::USAGE};
use crate::{
    pattern::{Pattern, regex},
    prelude::*,
};

static COMMAND: Pattern =
    Pattern::new(|| regex(r"(?s)```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```"));

pub const FORMAT: Format = Format::code("mini-swe-agent", fits, || Box::new(read));

fn fits(value: Value, _kind: Option<&str>) -> bool {
    let format = value.text("trajectory_format");
    format.is_some_and(|format| format.starts_with("mini-swe-agent")) || is_conversation(value)
}

/// Returns whether the first answer of a conversation has a command as only mini-swe-agent asks for it.
fn is_conversation(value: Value) -> bool {
    let answer = messages(value).find(|message| message.text("role") == Some("assistant"));
    let text = answer.text("content");
    text.is_some_and(|text| text.contains("```mswea_bash_command\n")) && messages::fits(value, None)
}

fn messages<'d>(value: Value<'d>) -> impl Iterator<Item = Value<'d>> + Clone {
    value.as_array().or_else(|| value.list("messages")).into_iter().flatten()
}

fn read(value: Value, out: &mut Sink) {
    let mut run = out.begin();
    run.has_failed = swe_agent::has_failed(value, "Submitted");
    let messages = messages(value);
    let has_tools = messages.clone().any(has_tools);
    let mut has_task = false;
    for message in messages {
        let begin = run.events.len();
        let extra = message.object("extra");
        match message.list("output") {
            _ if !has_tools => read_text(message, &mut run, &mut has_task),
            _ if message.text("role") == Some("exit") => continue,
            Some(items) if message.text("object") == Some("response") => run.read_answer(items),
            _ if extra.has("interrupt_type") => run.skipped.add("context"),
            _ => run.read_message(message),
        }
        // With tools, its text is JSON.
        if let Some(failed) = has_failed(extra.get("returncode")).filter(|_| has_tools) {
            run.amend(begin, |event, _| {
                if let Event::Result(result) = event {
                    result.failed = failed;
                }
                true
            });
        }
        let response = extra.object("response");
        run.facts.add(Tokens::of(response.object("usage"), USAGE).map(Tokens::without_cache));
        run.facts.model(response.name("model"));
        run.end_record(extra.member("timestamp"), begin);
    }
    out.run(run);
}

fn has_tools(message: Value) -> bool {
    message.elements("tool_calls").next().is_some()
        || message.text("type").is_some()
        || message.text("object") == Some("response")
}

/// Reads a message of a conversation with commands in its texts. `has_task`: whether a person has said anything before.
fn read_text(message: Value, run: &mut Run, has_task: &mut bool) {
    match message.text("role") {
        Some("system") => run.read_message(message),
        Some("user") if !*has_task => {
            run.read_message(message);
            *has_task = matches!(run.events.last(), Some(Event::Human(_)));
        }
        Some("user") => {
            let output = text_of(message.member("content"), &mut run.skipped);
            let code = message.object("extra").get("returncode").and_then(Value::as_integer);
            let flag = code.map(|code| code != 0).or_else(|| flag(message));
            run.tool_result(None, output, flag);
        }
        Some("assistant") => {
            let answer = text_of(message.member("content"), &mut run.skipped);
            read_answer(&answer.text, run);
        }
        role => run.skipped.add_role(role),
    }
}

fn read_answer(answer: &str, run: &mut Run) {
    let Some(found) = COMMAND.captures(answer) else { return say(answer, run) };
    let (block, command) = (found.get_match(), found.get(1).map_or("", |command| command.as_str()));
    say(&answer[..block.start()], run);
    run.end_turn();
    run.tool_call(Some("bash"), CallInput::of_text("command", command), None);
    say(&answer[block.end()..], run);
}

fn say(text: &str, run: &mut Run) {
    if !json::is_blank(text) {
        run.events.push(Event::said(text));
    }
}
