//! Sessions of Gemini CLI: documents, or lines of which later ones change earlier ones.
//!
//! | Gemini CLI: session files, as JSON and as lines | a session | |
//!
//! - sessions in the tests of agent-sessions, of agentsview and of Entire | 0.40; 651e854f, 53860074, 394f81fa | 2026-11-22 | captured

use std::mem;

use crate::{
    events::{Event, Events},
    failure::flag,
    format::{Format, Sink, open},
    ids::Ids,
    json::{Members, Value},
    messages::{Conversation, call_of_part, parts},
    run::Run,
    sessions::{self, Sessions},
    skipped::Skipped,
    text::{Output, is_text_type, text_of, text_of_part},
};

pub const FORMAT: Format =
    Format { name: "gemini-cli", domain: "code", fits, open: open::<Sessions<Session>> };

fn fits(object: Value) -> bool {
    object.name("sessionId").is_some()
        && object.name("projectHash").is_some()
        && !object.has("type")
}

fn is_change(record: Value) -> bool {
    record.has("$set") || record.has("$rewindTo")
}

#[derive(Default)]
pub struct Session {
    is_subagent: bool,
    /// The events of the messages, in order. A later message replaces one with the same id.
    messages: Vec<(Events, Skipped)>,
    places: Ids,
    size: usize,
}

impl sessions::Session for Session {
    fn begins<'d>(record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        fits(record).then(|| record.name("sessionId"))
    }

    fn time(record: Value<'_>) -> Option<Value<'_>> {
        record.member("startTime").filter(|_| fits(record))
    }

    fn continues(object: Value, is_next: bool) -> bool {
        is_change(object) || (is_next && object.text("type").is_some())
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        let is_header = fits(record);
        self.is_subagent |= is_header && record.text("kind") == Some("subagent");
        if self.is_subagent {
            return;
        }
        if is_header {
            run.read_each(record.member("messages"), |run, message| self.add(message, run));
        } else if let Some(set) = record.get("$set") {
            run.skipped.add("record:$set");
            run.read_each(set.member("messages"), |run, message| self.add(message, run));
        } else if record.has("$rewindTo") {
            run.skipped.add("record:$rewindTo");
        } else {
            self.add(record, run);
        }
    }

    fn size(&self) -> usize {
        self.size
    }

    fn end(self, mut run: Run, out: &mut Sink) {
        if self.is_subagent {
            return out.skip("subagent");
        }
        for (events, skipped) in self.messages {
            run.events.extend(events);
            run.skipped.merge(skipped);
        }
        out.run(run);
    }
}

impl Session {
    /// Reads a message, and keeps its events until the session ends.
    fn add(&mut self, message: Value, run: &mut Conversation) {
        let skipped = mem::take(&mut run.skipped);
        read(message, run);
        let read = (mem::take(&mut run.events), mem::replace(&mut run.skipped, skipped));
        self.size += size(&read);
        let next = self.messages.len() as u32;
        let place = self.places.get_or_insert(message.name("id"), || next);
        let Some(earlier) = self.messages.get_mut(place as usize) else {
            return self.messages.push(read);
        };
        self.size -= size(earlier);
        *earlier = read;
        run.skipped.add("repeated");
    }
}

fn size((events, skipped): &(Events, Skipped)) -> usize {
    let reasons = skipped.iter().next().map_or(0, |_| size_of::<[String; 24]>());
    size_of::<(Events, Skipped)>() + events.size() + reasons
}

fn read(message: Value, run: &mut Conversation) {
    match message.text("type") {
        Some("user") => run.read_user(message.member("content")),
        Some("gemini") => read_answer(message, run),
        Some(kind) => run.skipped.add(format!("record:{kind}")),
        None => run.skipped.add("malformed"),
    }
}

fn read_answer(message: Value, run: &mut Conversation) {
    run.read_each(message.member("thoughts"), |run, thought| {
        let texts = ["subject", "description"].into_iter().filter_map(|name| thought.name(name));
        run.events.push(Event::reasoned(texts.collect::<Vec<_>>().join("\n")));
    });
    let turn = run.next_turn();
    let turn = run.read_content(message.member("content"), turn);
    run.read_each(message.member("toolCalls"), |run, value| {
        let has_failed = matches!(value.text("status"), Some("error" | "cancelled"));
        let output = match (value.member("result"), value.text("resultDisplay")) {
            (Some(result), _) => Some(text_of_result(result, &mut run.skipped)),
            (None, Some(text)) => Some(Output { text: text.into(), failed: None }),
            (None, None) => has_failed.then(Output::default),
        };
        let flag = has_failed.then_some(true).or_else(|| flag(value));
        let result = output.map(|output| output.into_result(flag));
        run.call_with_result(call_of_part(value, turn), result);
    });
    run.end_step();
}

/// Returns the text of a result: of the responses in it, and of its text parts.
fn text_of_result(result: Value, skipped: &mut Skipped) -> Output {
    let output = |(kind, part): (&str, Value)| match part.member("response") {
        Some(response) if kind == "tool_call_response" => {
            Some(text_of(response.first(&["output", "error"]).unwrap_or(response), skipped))
        }
        _ if is_text_type(kind) => {
            Some(Output { text: text_of_part(part).unwrap_or_default(), failed: None })
        }
        _ => {
            skipped.add(format!("part:{kind}"));
            None
        }
    };
    let outputs = parts(Some(result)).filter_map(output);
    let joined = outputs.reduce(|all, output| Output {
        text: all.text + "\n" + &output.text,
        failed: all.failed.or(output.failed),
    });
    joined.unwrap_or_default()
}
