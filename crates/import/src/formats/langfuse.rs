//! Traces of Langfuse.
//!
//! | Langfuse: traces with observations | a trace | scores such as `success`; an error of the root |
//!
//! - traces of five frameworks in the tests of Langfuse | 62751446 | 2026-11-22 | captured

use std::collections::HashSet;

use crate::{
    format::{Format, Sink},
    json::{Members, Value},
    messages::{self, Conversation, Messages, Side},
    provenance::Origin,
    run::Run,
    skipped::Skipped,
    spans::{self, Span, SpanKind},
    time,
};

pub const FORMAT: Format =
    Format { name: "langfuse", domain: "general", fits, open: || Box::new(read) };

fn fits(value: Value) -> bool {
    value.list("observations").is_some() && (value.object("trace").is_some() || value.has("id"))
}

fn read(value: Value, out: &mut Sink) {
    let trace = value.object("trace").unwrap_or(value);
    out.run(run(trace, value.get("observations"), out.line));
}

fn run(trace: Value, observations: Option<Value>, line: u64) -> Run {
    let mut skipped = Skipped::default();
    let observations: Vec<_> = skipped.objects(observations).collect();
    let called = called_tools(&observations);
    let spans: Vec<_> = observations.iter().map(|&value| span(value, &called)).collect();
    let spans: Vec<_> = spans.iter().collect();

    let root = spans::first_root(&spans, &spans::forest(&spans)).map(|root| observations[root]);
    let asked = root.member("input").and_then(messages::human).map(|text| (text, Origin::Field));
    let name = || trace.name("name").map(|name| (name.into(), Origin::Name));
    let mut run = spans::run(&spans, trace.name("id").map(Into::into));
    run.skipped.merge(skipped);
    Run {
        line,
        objective: trace.member("input").and_then(messages::human),
        fallback: asked.or_else(name),
        label: trace.elements("scores").find_map(label),
        confidence: trace.elements("scores").find_map(confidence),
        created_at: trace.first(&["timestamp", "createdAt"]).and_then(time::utc),
        ..run
    }
}

fn label(score: Value) -> Option<bool> {
    spans::label(score.text("name")?, score.get("value")?)
}

fn confidence(score: Value) -> Option<f64> {
    let value = score.get("value")?.as_f64()?;
    (score.text("name") == Some("confidence") && (0.0..=1.0).contains(&value)).then_some(value)
}

fn messages(observation: Value<'_>, side: Side) -> Option<Messages<'_>> {
    messages::messages_of(recorded(observation, side)?, side)
}

fn recorded(observation: Value<'_>, side: Side) -> Option<Value<'_>> {
    observation.member(["input", "output"][side as usize])
}

fn called_tools(observations: &[Value]) -> HashSet<String> {
    let answers = observations.iter().filter_map(|value| messages(*value, Side::Output));
    let events = answers.flat_map(|messages| Conversation::of(&messages).events);
    events.filter_map(|event| Some(event.call()?.name.clone())).collect()
}

fn span(observation: Value, called: &HashSet<String>) -> Span {
    let name = observation.text("name").unwrap_or_default();
    let mut span = Span {
        id: observation.name("id").map(Into::into),
        parent: observation.name("parentObservationId").map(Into::into),
        name: name.into(),
        start: observation.member("startTime").and_then(time::instant),
        status: (observation.text("level") == Some("ERROR")).then_some(false),
        message: observation.text("statusMessage").map(Into::into),
        ..Span::default()
    };
    let kind = observation.text("type").unwrap_or_default();
    match kind {
        "GENERATION" | "AGENT" => {
            let sides = Side::BOTH.map(|side| messages(observation, side));
            let is_empty = |side| recorded(observation, side).is_none_or(spans::is_empty);
            span.set_sides(kind == "AGENT", &sides, is_empty);
            let output = observation.member("output");
            span.is_plain = output.is_some_and(|output| output.decoded().is_string());
        }
        "TOOL" => span.kind = tool(observation, name),
        _ => {
            let mut names = spans::tool_names(name);
            if output_of_tool(observation).is_some() && names.any(|name| called.contains(name)) {
                span.kind = tool(observation, name);
            }
        }
    }
    span
}

/// Returns the output of a tool. Some frameworks record `null` as a string.
fn output_of_tool(observation: Value<'_>) -> Option<Value<'_>> {
    observation.member("output").filter(|output| output.as_str() != Some("null"))
}

fn tool(observation: Value, name: &str) -> SpanKind {
    let metadata = observation.member("metadata").map(Value::decoded);
    let attributes = metadata.member("attributes").map(Value::decoded);
    let name = attributes.first_name(&["gen_ai.tool.name", "ai.toolCall.name"]).unwrap_or(name);
    let id = attributes.first_name(&["gen_ai.tool.call.id", "ai.toolCall.id"]);
    let input = observation.member("input").map(|input| {
        let input = input.decoded();
        spans::only_member(input, "input").and_then(Value::as_object).unwrap_or(input)
    });
    SpanKind::tool(name, id, input, output_of_tool(observation))
}
