//! Logs of Inspect, as JSON.

use std::{cell::Cell, collections::HashMap};

use serde::{Serialize, Serializer, ser::Error as _};

use super::messages;
use crate::{
    events::{Origin, Run, TOO_MUCH_TEXT},
    format::Runs,
    json::{self, Array, Document, Kind, Members, Unread, Value, object_of},
    reader::MAX_BYTES,
    time,
};

pub fn fits(value: Value) -> bool {
    value.object("eval").is_some() && value.text("status").is_some()
}

/// Each sample is a run.
pub fn read(value: Value, out: &mut Runs) {
    if value.list("samples").is_none_or(Array::is_empty) {
        return out.skip("no_samples");
    }
    let evaluation = value.object("eval");
    for sample in out.report.skipped.objects(value.get("samples")) {
        match attached(sample) {
            None => out.run(run(sample, sample, evaluation, out.line)),
            Some(Ok(content)) => out.run(run(sample, content.root(), evaluation, out.line)),
            Some(Err(_)) => out.too_large(out.line, TOO_MUCH_TEXT),
        }
    }
}

/// Returns the run of a sample. `content` has its messages and its input.
fn run(sample: Value, content: Value, evaluation: Option<Value>, line: u64) -> Run {
    let input = content.member("input").and_then(messages::human);
    let created = || evaluation?.member("created");
    let mut run = Run {
        key: Some(key(sample, evaluation)),
        fallback: input.map(|input| (input, Origin::Field)),
        label: score(sample).and_then(label),
        status: sample.member("error").map(|_| false),
        created_at: sample.member("started_at").or_else(created).and_then(time::utc),
        ..Run::at(line)
    };
    run.read_messages(content.elements("messages"));
    let output = sample.get("output");
    run.logprobs.add(output.and_then(|output| output.pointer("/choices/0/logprobs/content")));
    run
}

/// Returns the messages and the input of a sample with attachments in place of references to them; `None`
/// without attachments. The error is that they are too large.
fn attached(sample: Value) -> Option<Result<Document<'static>, Unread>> {
    let attachments: HashMap<_, _> = sample.object("attachments")?.members().collect();
    if attachments.is_empty() {
        return None;
    }
    let room = Cell::new(MAX_BYTES);
    let member = |name| {
        Some((name, Attached { value: sample.get(name)?, attachments: &attachments, room: &room }))
    };
    let members = ["messages", "input"].into_iter().filter_map(member);
    Some(Document::parse(object_of(members)))
}

/// A value with its attachments, of which many strings may refer to the same.
struct Attached<'a, 'd> {
    value: Value<'d>,
    attachments: &'a HashMap<&'d str, Value<'d>>,
    /// The most bytes of strings that may follow.
    room: &'a Cell<usize>,
}

impl Serialize for Attached<'_, '_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let attached = |value| Attached { value, ..*self };
        match self.value.kind() {
            Kind::String(text) => {
                let id = text.strip_prefix("attachment://");
                let attachment = id.and_then(|id| self.attachments.get(id)?.as_str());
                let text = attachment.unwrap_or(text);
                let room = self.room.get().checked_sub(text.len());
                self.room.set(room.ok_or_else(|| S::Error::custom("too large"))?);
                out.serialize_str(text)
            }
            Kind::Array(elements) => out.collect_seq(elements.map(attached)),
            Kind::Object(object) => {
                out.collect_map(object.members().map(|(name, value)| (name, attached(value))))
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => self.value.serialize(out),
        }
    }
}

fn key(sample: Value, evaluation: Option<Value>) -> String {
    if let Some(id) = sample.name("uuid") {
        return id.to_owned();
    }
    let part = |value: Option<Value>| match value.map(|value| (value, value.kind())) {
        Some((_, Kind::String(text))) => text.to_owned(),
        Some((number, Kind::Number(_))) => number.canonical(),
        _ => String::new(),
    };
    let run = part(evaluation.member("run_id"));
    format!("{run}/{}/{}", part(sample.member("id")), part(sample.member("epoch")))
}

fn score(sample: Value) -> Option<Value> {
    let first = sample.object("scores").and_then(|scores| scores.members().next());
    first.map(|(_, score)| score).or_else(|| sample.member("score"))?.member("value")
}

/// Returns whether a score says success. Partial credit is a failure.
fn label(score: Value) -> Option<bool> {
    match score.kind() {
        Kind::Bool(success) => Some(success),
        Kind::Number(number) => number.as_f64().map(|number| number >= 1.0),
        Kind::String(letters) => match json::trimmed(letters).to_ascii_lowercase().as_str() {
            "c" | "yes" | "true" => Some(true),
            "p" | "i" | "n" | "no" | "false" => Some(false),
            _ => None,
        },
        Kind::Null | Kind::Array(_) | Kind::Object(_) => None,
    }
}
