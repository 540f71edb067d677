//! Logs of Inspect, as JSON.

use std::collections::HashMap;

use crate::{
    event::{ObjectiveFrom, Run},
    format::{Format, Output, ReadRuns},
    json::{self, Document, Kind, Members, Value},
    messages::{self, Conversation, Messages},
    reader::MAX_BYTES,
    time,
};

/// Evaluation logs; each sample is a run.
pub(crate) const FORMAT: Format =
    Format { name: "inspect", domain: "general", fits, adopts: false, open: || Box::new(Reader) };

fn fits(value: Value) -> bool {
    value.object("eval").is_some() && value.text("status").is_some()
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        let Some(samples) = value.list("samples").filter(|samples| !samples.is_empty()) else {
            return out.skip("no_samples");
        };
        for sample in samples {
            if !sample.is_object() {
                out.skip("malformed");
                continue;
            }
            let evaluation = value.object("eval");
            match attached(sample) {
                Ok(None) => out.run(run(sample, sample, evaluation, line)),
                Ok(Some(content)) => out.run(run(sample, content.root(), evaluation, line)),
                Err(TooLarge) => out.too_large(line),
            }
        }
    }
}

/// Reads a sample; `content` has its messages and its input.
fn run(sample: Value, content: Value, evaluation: Option<Value>, line: u64) -> Run {
    let mut conversation = Conversation::default();
    if let Some(messages) = content.list("messages") {
        conversation.read_all(Messages::Array(messages));
    }
    let input = content.member("input").and_then(messages::human);
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

/// The content of a sample is too large with its attachments.
struct TooLarge;

/// How strings begin that refer to an attachment.
const REFERENCE: &str = "attachment://";

/// Returns the messages and the input of a sample with its attachments in place of the strings that refer to
/// them; `None` without attachments. Many strings may refer to the same.
fn attached(sample: Value) -> Result<Option<Document<'static>>, TooLarge> {
    let Some(attachments) = sample.object("attachments") else { return Ok(None) };
    let attachments: HashMap<_, _> = attachments.members().collect();
    if attachments.is_empty() {
        return Ok(None);
    }
    let mut content = String::from("{");
    for name in ["messages", "input"] {
        if let Some(value) = sample.get(name) {
            let comma = if content.len() > 1 { "," } else { "" };
            content.push_str(&format!("{comma}\"{name}\":"));
            attach(value, &attachments, &mut content)?;
        }
    }
    content.push('}');
    Document::parse(content).map(Some).map_err(|_| TooLarge)
}

/// Writes a value with its attachments.
fn attach(
    value: Value,
    attachments: &HashMap<&str, Value>,
    out: &mut String,
) -> Result<(), TooLarge> {
    match value.kind() {
        Kind::String(text) => {
            let attachment = text.strip_prefix(REFERENCE).and_then(|id| attachments.get(id));
            out.push_str(&json::quoted(
                attachment.and_then(|found| found.as_str()).unwrap_or(text),
            ));
        }
        Kind::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                attach(element, attachments, out)?;
            }
            out.push(']');
        }
        Kind::Object(object) => {
            out.push('{');
            for (index, (name, member)) in object.members().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&json::quoted(name));
                out.push(':');
                attach(member, attachments, out)?;
            }
            out.push('}');
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => out.push_str(&value.to_string()),
    }
    if out.len() > MAX_BYTES { Err(TooLarge) } else { Ok(()) }
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
    let run = part(evaluation.and_then(|evaluation| evaluation.member("run_id")));
    format!("{run}/{}/{}", part(sample.member("id")), part(sample.member("epoch")))
}

/// Returns the value of the first score.
fn score(sample: Value) -> Option<Value> {
    let first = sample.object("scores").and_then(|scores| scores.members().next());
    first.map(|(_, score)| score).or_else(|| sample.member("score"))?.member("value")
}

/// Returns whether a score says success; partial credit is none.
fn label(score: Value) -> Option<bool> {
    match score.kind() {
        Kind::Bool(success) => Some(success),
        Kind::Number(number) => Some(number.as_f64() >= 1.0),
        Kind::String(letters) => match json::trimmed(letters).to_ascii_lowercase().as_str() {
            "c" | "yes" | "true" => Some(true),
            "p" | "i" | "n" | "no" | "false" => Some(false),
            _ => None,
        },
        Kind::Null | Kind::Array(_) | Kind::Object(_) => None,
    }
}
