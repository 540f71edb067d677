//! Sessions of Gemini CLI: documents, or lines of which later ones change earlier ones; and its output as a stream.
//!
//! | Gemini CLI: session files, as JSON and as lines; `--output-format stream-json` | a session | an error of the stream's `result` record |
//!
//! - sessions in the tests of agent-sessions, of agentsview and of Entire | 0.40; 651e854f, 53860074, 394f81fa | 2026-11-22 | captured
//! - sessions with context and checkpoints | 0.43 to 0.50 | 2026-11-26 | written
//! - `--output-format stream-json` | 5411f113 | 2026-11-28 | source

mod stream;

use std::{
    collections::{BTreeMap, HashSet},
    mem,
};

use crate::{answers::Waiting, part::Kind, prelude::*};

pub const FORMAT: Format = Format::code("gemini-cli", fits, || {
    sessions(Rules {
        begins: |_, record, open| match stream::begins(record) {
            _ if is_header(record) => Some(record.name("sessionId")),
            id => another(Some(id?), open),
        },
        takes: Session::takes,
        time: |record| {
            let name = if is_header(record) { "startTime" } else { "timestamp" };
            record.member(name).filter(|_| name == "startTime" || stream::begins(record).is_some())
        },
        ..Rules::of(Session::read)
    })
});

fn fits(object: Value, kind: Option<&str>) -> bool {
    is_header(object) || is_change(object) || stream::fits(object, kind)
}

fn is_header(object: Value) -> bool {
    object.name("projectHash").and(object.name("sessionId")).is_some() && !object.has("type")
}

fn is_change(record: Value) -> bool {
    record.has("$set") || record.has("$rewindTo")
}

#[derive(Default)]
pub struct Session {
    is_stream: bool,
    /// What was read of the messages, by number. A later message replaces one with the same id.
    messages: BTreeMap<u32, Message>,
    numbers: Ids,
    size: usize,
}

struct Message {
    events: Events,
    skipped: Skipped,
    is_of_user: bool,
}

impl Session {
    fn takes(&self, record: Value, kind: &str) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| record.has(name));
        if super::grok_build::fits(record, Some(kind)) {
            return false;
        }
        if self.is_stream {
            let kinds = ["init", "message", "tool_use", "tool_result", "error", "result"];
            return kinds.contains(&kind)
                && (matches!(kind, "init" | "error")
                    || !has(&["message", "session_id", "sessionId"]));
        }
        !kind.is_empty() && has(&["content", "toolCalls"]) && !has(&["role", "message", "source"])
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        self.is_stream |= stream::fits(record, record.text("type"));
        let is_header = is_header(record);
        if is_header && record.text("kind") == Some("subagent") {
            run.left_out = Some("subagent");
        }
        if run.left_out.is_some() {
            return;
        }
        if self.is_stream {
            return run.record(record.member("timestamp"), |run| stream::read(record, run));
        }
        if is_header {
            run.facts.at(record.member("startTime"), false);
            run.facts.time(record.member("lastUpdated").and_then(time::instant));
            run.read_each(record.member("messages"), |run, message| self.add(message, run));
        } else if let Some(set) = record.get("$set") {
            run.skipped.add("record:$set");
            run.facts.time(set.member("lastUpdated").and_then(time::instant));
            run.read_each(set.member("messages"), |run, message| self.add(message, run));
        } else if record.has("$rewindTo") {
            run.skipped.add("record:$rewindTo");
        } else {
            self.add(record, run);
        }
    }

    /// Reads a message, and keeps its events until the session ends.
    fn add(&mut self, message: Value, run: &mut Conversation) {
        let skipped = mem::take(&mut run.skipped);
        match message.text("type") {
            Some("user") => read_user(message.member("content"), None, run),
            Some("gemini") => read_answer(message, run),
            Some(kind) => run.skipped.add_record(kind),
            None => run.skipped.add("malformed"),
        }
        run.end_record(message.member("timestamp"), 0);
        let read = Message {
            events: mem::take(&mut run.events),
            skipped: mem::replace(&mut run.skipped, skipped),
            is_of_user: message.text("type") == Some("user"),
        };
        self.size += read.size();
        let next = self.messages.len() as u32;
        let number = self.numbers.get_or_insert(message.name("id"), || next);
        let usage = message.object("tokens");
        let tokens = Tokens::of(usage, ["input", "output", "cached", ""]);
        let tokens =
            tokens.map(|tokens| tokens.without_cache().with_reasoning(usage.get("thoughts")));
        run.facts.set(number, tokens);
        run.facts.model(message.name("model"));
        if let Some(earlier) = self.messages.insert(number, read) {
            self.size -= earlier.size();
            run.skipped.add("repeated");
        }
    }
}

impl State for Session {
    fn size(&self) -> usize {
        self.size
    }

    fn end(self, mut run: Run, out: &mut Sink) {
        let mut answered = HashSet::new();
        for Message { events, skipped, is_of_user } in self.messages.into_values() {
            run.skipped.merge(skipped);
            for event in events {
                // User messages have the results of the answer before once more.
                let is_repeated = match (event.id().map(hash), event.call()) {
                    (Some(id), None) => !answered.insert(id) && is_of_user,
                    (Some(id), Some(_)) => {
                        answered.remove(&id);
                        false
                    }
                    (None, _) => false,
                };
                if is_repeated {
                    run.skipped.add("repeated");
                } else {
                    run.events.push(event);
                }
            }
        }
        out.run(run);
    }
}

impl Message {
    fn size(&self) -> usize {
        let reasons = self.skipped.iter().next().map_or(0, |_| size_of::<[String; 24]>());
        size_of::<Self>() + self.events.size() + reasons
    }
}

/// Reads a user message: results, then texts. `flag`: whether the record says that the tools failed.
pub(super) fn read_user(content: Option<Value>, flag: Option<bool>, run: &mut Conversation) {
    run.harness = Harness::Gemini;
    run.read_user_by(content, |run, kind, part| {
        if kind != RESPONSE {
            return run.read_result_part(kind, part);
        }
        let response = part.object("response");
        let is_error = response.member("error").is_some() && response.member("output").is_none();
        let output = output(kind, part, &mut run.skipped).unwrap_or_default();
        let result = output.into_result(flag.or(is_error.then_some(true)));
        let [id, name] = [Part(part).id(), Part(part).name()].map(|text| text.map(Into::into));
        run.events.push(Event::Result(ToolResult { id, name, ..result }));
    });
}

fn read_answer(message: Value, run: &mut Conversation) {
    let content = message.member("content");
    // What a checkpoint has in the content stands beside it as well.
    let has_thoughts = parts(content).any(|(kind, _)| kind == "thought");
    run.read_each(message.member("thoughts"), |run, thought| {
        if has_thoughts {
            return run.skipped.add("repeated");
        }
        let texts = ["subject", "description"].into_iter().filter_map(|name| thought.name(name));
        run.events.push(Event::reasoned(texts.collect::<Vec<_>>().join("\n")));
    });
    let begin = run.events.len();
    let turn = run.next_turn();
    let turn = run.read_content(content, turn);
    // The calls in the content, which stand beside it as well: by id, or by name without one.
    let mut waiting = Waiting::default();
    let by_name = |call: &Call| (false, call.name.clone());
    let key = |call: &Call| call.id.clone().map_or_else(|| by_name(call), |id| (true, id));
    for (place, event) in run.events.iter().enumerate().skip(begin) {
        waiting.add(place, event.call().map(key));
    }
    run.read_each(message.member("toolCalls"), |run, value| {
        let call = call_of_part(value, turn);
        let has_failed = matches!(value.text("status"), Some("error" | "cancelled"));
        let output = match (value.member("result"), value.text("resultDisplay")) {
            (Some(result), _) => Some(text_of_result(result, call.id.as_deref(), &mut run.skipped)),
            (None, Some(text)) => Some(Output { text: text.into(), failed: None }),
            (None, None) => has_failed.then(Output::default),
        };
        let flag = has_failed.then_some(true).or_else(|| flag(value));
        let result = output.map(|output| output.into_result(flag));
        let place = waiting.take([key(&call)]).or_else(|| waiting.take([by_name(&call)]));
        let Some(place) = place else { return run.call_with_result(call, result) };
        run.skipped.add("repeated");
        run.answer(&call, result);
        if let Some(said) = run.events[place].call().cloned() {
            run.events.replace(place, Event::Call(Call { id: call.id, ..said }));
        }
    });
    run.end_step();
}

/// The type of a part with the response of a function.
const RESPONSE: &str = "tool_call_response";

/// Returns the text of the result of the call with this id: of the responses in it, and of its text parts.
fn text_of_result(result: Value, id: Option<&str>, skipped: &mut Skipped) -> Output {
    let parts = parts(Some(result));
    let answers = |part: Value| id.is_some() && part.name("id") == id;
    // It may have the responses to all calls of the turn.
    let has_answer = parts.clone().any(|(kind, part)| kind == RESPONSE && answers(part));
    let outputs = parts.filter_map(|(kind, part)| {
        if has_answer && kind == RESPONSE && !answers(part) {
            skipped.add("repeated");
            return None;
        }
        output(kind, part, skipped)
    });
    let joined = outputs.reduce(|all, output| Output {
        text: all.text + "\n" + &output.text,
        failed: all.failed.or(output.failed),
    });
    joined.unwrap_or_default()
}

fn output(kind: &str, part: Value, skipped: &mut Skipped) -> Option<Output> {
    match part.member("response") {
        Some(response) if kind == RESPONSE => {
            Some(text_of(response.first(&["output", "error"]).unwrap_or(response), skipped))
        }
        _ if Kind::of(kind) == Kind::Text => {
            Some(Output { text: text_of_part(part).unwrap_or_default(), failed: None })
        }
        _ => {
            skipped.add_part(kind);
            None
        }
    }
}
