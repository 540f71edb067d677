//! Trajectories of SWE-agent.

use std::sync::LazyLock;

use crate::{
    event::{Call, Event, Input, Run},
    failure,
    format::{Format, Output, ReadRuns},
    json::{self, Array, Members, Value},
    messages::{Conversation, Message},
    text,
};
use regex::Regex;

/// Files that end in `.traj`.
pub(crate) const FORMAT: Format =
    Format { name: "swe-agent", domain: "code", fits, adopts: false, open: || Box::new(Reader) };

/// Observations that tell of a failure in SWE-agent's own words.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^[ \t\r\n]*(?:Your proposed edit has introduced new syntax error|EXECUTION TIMED OUT)",
    )
    .expect("a valid expression")
});

fn fits(value: Value) -> bool {
    let Some(history) = value.list("history") else { return false };
    let first = history.iter().find_map(Value::as_object);
    value.list("trajectory").is_some() || first.is_some_and(|first| first.has("agent"))
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        let mut conversation = Conversation::default();
        let entries = value.list("history").into_iter().flat_map(Array::iter);
        let demonstrations = entries.clone().filter(|entry| is_demonstration(*entry)).count();
        conversation.skipped.add_many("demonstration", demonstrations as u64);
        let history = entries.filter(|entry| !is_demonstration(*entry));

        let has_calls = history
            .clone()
            .any(|entry| entry.list("tool_calls").is_some_and(|calls| !calls.is_empty()));
        match value.list("trajectory") {
            Some(trajectory) if !has_calls && !trajectory.is_empty() => {
                let is_user = |entry: &Value| entry.text("role") == Some("user");
                let is_system = |entry: &Value| entry.text("role") == Some("system");
                let task = history.clone().find(is_user);
                for entry in history.filter(is_system).chain(task) {
                    conversation.read(Message::Recorded(entry));
                }
                for step in trajectory {
                    read_step(step, &mut conversation);
                }
            }
            _ => {
                for entry in history {
                    conversation.read(Message::Recorded(entry));
                }
            }
        }
        for event in &mut conversation.events {
            if let Event::Result(result) = event {
                result.failed |= FAILED.is_match(&result.text);
            }
        }
        out.run(Run {
            line,
            status: Run::status_of_exit(value.object("info"), "submitted"),
            events: conversation.events,
            skipped: conversation.skipped,
            ..Run::default()
        });
    }
}

fn is_demonstration(entry: Value) -> bool {
    entry.flag("is_demo") == Some(true) || entry.text("message_type") == Some("demonstration")
}

/// Reads a thought, its command and what the command printed.
fn read_step(step: Value, conversation: &mut Conversation) {
    if !step.is_object() {
        return conversation.skipped.add("malformed");
    }
    if let Some(thought) = step.name("thought") {
        conversation.events.push(Event::said(thought));
    }
    let action = step.name("action");
    if let Some(action) = action {
        let command =
            json::trimmed(action).split(|letter| matches!(letter, '\t'..='\r' | ' ')).next();
        let turn = conversation.next_turn();
        let input = Input::of_text("command", action);
        conversation.events.push(Event::Call(Call::new(command, input, None, turn)));
    }
    let observation = step.member("observation");
    let read = |observation| text::of(observation, &mut conversation.skipped);
    let observation = observation.map(read).unwrap_or_default();
    if action.is_some() || !json::is_blank(&observation.text) {
        let failed = observation.failed.unwrap_or_else(|| failure::in_text(&observation.text));
        conversation.events.push(Event::result(observation.text, failed));
    }
}
