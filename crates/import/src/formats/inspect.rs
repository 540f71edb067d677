//! Logs of Inspect, as JSON.
//!
//! | Inspect: logs as JSON | a sample | the first score that no model gave; an error of the sample |
//!
//! - a log in the tests of Inspect | 0.3.95; 499e6152 | 2026-11-22 | captured

use std::{collections::HashMap, time::Duration};

use crate::{json::Kind, limits::TOO_MUCH_TEXT, prelude::*};

pub const FORMAT: Format =
    Format { name: "inspect", domain: "general", fits, open: || Box::new(read) };

fn fits(value: Value, _kind: Option<&str>) -> bool {
    value.object("eval").is_some() && value.text("status").is_some()
}

/// Each sample is a run.
fn read(value: Value, out: &mut Sink) {
    if value.list("samples").is_none_or(Array::is_empty) {
        return out.skip("no_samples");
    }
    let evaluation = value.object("eval");
    for sample in out.report.skipped.objects(value.get("samples")) {
        match attached(sample) {
            None => out.run(run(sample, sample, evaluation, out)),
            Some(Ok(content)) => out.run(run(sample, content.root(), evaluation, out)),
            Some(Err(Full)) => out.too_large(out.line, TOO_MUCH_TEXT),
        }
    }
}

/// The names of the counts of tokens.
const USAGE: [&str; 4] =
    ["input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write"];

/// Returns the run of a sample. `content` has its messages and its input.
fn run(sample: Value, content: Value, evaluation: Option<Value>, out: &Sink) -> Run {
    let input = content.member("input").and_then(messages::human);
    let created = || evaluation?.member("created");
    let mut run = Run {
        key: Some(key(sample, evaluation)),
        fallback: input.map(|input| (input, Origin::Field)),
        label: score(sample).and_then(label),
        has_failed: sample.member("error").is_some(),
        created_at: sample.member("started_at").or_else(created).and_then(time::utc),
        ..out.begin()
    };
    run.read_messages(content.elements("messages"));
    sample.elements("events").for_each(|event| run.read_given(event));
    for (model, usage) in sample.object("model_usage").into_iter().flat_map(Value::members) {
        run.facts.model(Some(model));
        let tokens = Tokens::of(Some(usage), USAGE);
        run.facts.add(tokens.map(|tokens| tokens.by_total(usage.get("total_tokens"))));
    }
    run.facts.wall_ms = milliseconds(sample.get("total_time"));
    run.facts.active_ms = milliseconds(sample.get("working_time"));
    let output = sample.get("output");
    run.logprobs.add(output.and_then(|output| output.pointer("/choices/0/logprobs/content")));
    run
}

/// Returns a duration in seconds in milliseconds.
fn milliseconds(seconds: Option<Value>) -> Option<u64> {
    let seconds = Duration::try_from_secs_f64(seconds?.as_f64()?).ok()?;
    seconds.as_millis().try_into().ok()
}

/// Returns the messages and the input of a sample with attachments in place of references to them; `None`
/// without attachments. The error is that they are too large.
fn attached(sample: Value) -> Option<Result<Document<'static>, Full>> {
    let all = sample.object("attachments")?.members();
    // Not doubled again and again, as there may be many.
    let mut attachments = HashMap::with_capacity(all.clone().count());
    attachments.extend(all);
    if attachments.is_empty() {
        return None;
    }
    let members = ["messages", "input"].into_iter();
    let members = members.filter_map(|name| Some((name, sample.get(name)?)));
    Some(Document::build(|index| {
        index.object(members, |index, value| add_attached(index, value, &attachments))
    }))
}

/// Adds a value with its attachments, of which many strings may refer to the same.
fn add_attached(
    index: &mut Index,
    value: Value,
    attachments: &HashMap<&str, Value>,
) -> Result<(), Full> {
    match value.kind() {
        Kind::String(text) => {
            let id = text.strip_prefix("attachment://");
            let attachment = id.and_then(|id| attachments.get(id)?.as_str());
            index.push_string(attachment.unwrap_or(text))
        }
        Kind::Array(elements) => {
            index.array(elements, |index, value| add_attached(index, value, attachments))
        }
        Kind::Object(object) => {
            index.object(object.members(), |index, value| add_attached(index, value, attachments))
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => index.copy(value),
    }
}

/// The longest id that is part of a key, as of traces.
const MAX_ID_BYTES: usize = 1024;

fn key(sample: Value, evaluation: Option<Value>) -> String {
    if let Some(id) = sample.name("uuid") {
        return id.to_owned();
    }
    let part = |value: Option<Value>| match value.map(|value| (value, value.kind())) {
        // Each sample has that of the evaluation, so a long one would take memory for each.
        Some((_, Kind::String(text))) if text.len() <= MAX_ID_BYTES => text.to_owned(),
        Some((number, Kind::Number(_))) => number.canonical(),
        _ => String::new(),
    };
    let run = part(evaluation.member("run_id"));
    format!("{run}/{}/{}", part(sample.member("id")), part(sample.member("epoch")))
}

/// Returns the first score of a sample that is no model's.
fn score(sample: Value) -> Option<Value> {
    let mut scores = sample.object("scores").into_iter().flat_map(Value::members);
    let first = scores.find(|(name, _)| !is_of_judge(name)).map(|(_, score)| score);
    let single = || sample.member("score").filter(|_| !sample.has("scores"));
    first.or_else(single)?.member("value")
}

/// Returns whether a model gives the scores of a scorer, by its name, which may be that of a package before.
fn is_of_judge(scorer: &str) -> bool {
    scorer.rsplit('/').next().is_some_and(|name| name.starts_with("model_graded"))
}

/// Returns whether a score says success. Partial credit is a failure.
fn label(score: Value) -> Option<bool> {
    let Some(letters) = score.as_str() else {
        return score.as_bool().or_else(|| Some(score.as_f64()? >= 1.0));
    };
    match json::trimmed(letters).to_ascii_lowercase().as_str() {
        "c" | "yes" | "true" => Some(true),
        "p" | "i" | "n" | "no" | "false" => Some(false),
        _ => None,
    }
}
