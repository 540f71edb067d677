//! Logs of Inspect, as JSON.

use serde_json::Value;

use crate::{
    event::{ObjectiveFrom, Run},
    format::{Format, Output, ReadRuns},
    json::{self, Members, Object},
    messages::{self, Conversation},
    reader::MAX_BYTES,
    time,
};

/// Evaluation logs; each sample is a run.
pub(crate) const FORMAT: Format =
    Format { name: "inspect", domain: "general", fits, adopts: false, open: || Box::new(Reader) };

fn fits(value: &Object) -> bool {
    value.object("eval").is_some() && value.text("status").is_some()
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, mut value: Value, line: u64, out: &mut Output) {
        let samples = match value.get_mut("samples").map(Value::take) {
            Some(Value::Array(samples)) if !samples.is_empty() => samples,
            _ => return out.skip("no_samples"),
        };
        for sample in samples {
            let Value::Object(mut sample) = sample else {
                out.skip("malformed");
                continue;
            };
            match attach_all(&mut sample) {
                Some(()) => out.run(run(&sample, value.object("eval"), line)),
                None => out.too_large(line),
            }
        }
    }
}

fn run(sample: &Object, evaluation: Option<&Object>, line: u64) -> Run {
    let mut conversation = Conversation::default();
    if let Some(messages) = sample.list("messages") {
        conversation.read_all(messages);
    }
    let input = sample.member("input").and_then(messages::human);
    let created = || evaluation?.member("created");
    let mut run = Run {
        line,
        key: Some(key(sample, evaluation)),
        fallback: input.map(|input| (input, ObjectiveFrom::Field)),
        label: score(sample).and_then(label),
        status: sample.member("error").map(|_| false),
        created_at: sample.member("started_at").or_else(created).and_then(time::utc),
        events: conversation.events,
        skipped: conversation.skipped,
        ..Run::default()
    };
    let output = sample.get("output");
    run.logprobs.add(output.and_then(|output| output.pointer("/choices/0/logprobs/content")));
    run
}

/// Puts the attachments of a sample in place of the strings that refer to them; `None` if they are too
/// large, as many strings may refer to the same.
fn attach_all(sample: &mut Object) -> Option<()> {
    let Some(Value::Object(attachments)) = sample.remove("attachments") else { return Some(()) };
    let mut room = MAX_BYTES;
    for member in ["messages", "input"] {
        if let Some(value) = sample.get_mut(member) {
            attach(value, &attachments, &mut room)?;
        }
    }
    Some(())
}

fn attach(value: &mut Value, attachments: &Object, room: &mut usize) -> Option<()> {
    match value {
        Value::String(text) => {
            let id = text.strip_prefix("attachment://");
            if let Some(attached) = id.and_then(|id| attachments.text(id)) {
                *room = room.checked_sub(attached.len())?;
                *text = attached.to_owned();
            }
            Some(())
        }
        Value::Array(elements) => {
            elements.iter_mut().try_for_each(|element| attach(element, attachments, room))
        }
        Value::Object(members) => {
            members.values_mut().try_for_each(|member| attach(member, attachments, room))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(()),
    }
}

fn key(sample: &Object, evaluation: Option<&Object>) -> String {
    if let Some(id) = sample.name("uuid") {
        return id.to_owned();
    }
    let part = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(number @ Value::Number(_)) => json::canonical(number),
        _ => String::new(),
    };
    let run = part(evaluation.and_then(|evaluation| evaluation.member("run_id")));
    format!("{run}/{}/{}", part(sample.member("id")), part(sample.member("epoch")))
}

/// Returns the value of the first score.
fn score(sample: &Object) -> Option<&Value> {
    let first = sample.object("scores").and_then(|scores| scores.values().next());
    first.or_else(|| sample.member("score"))?.member("value")
}

/// Returns whether a score says success; partial credit is none.
fn label(score: &Value) -> Option<bool> {
    match score {
        Value::Bool(success) => Some(*success),
        Value::Number(number) => number.as_f64().map(|number| number >= 1.0),
        Value::String(letters) => match json::trimmed(letters).to_ascii_lowercase().as_str() {
            "c" | "yes" | "true" => Some(true),
            "p" | "i" | "n" | "no" | "false" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
