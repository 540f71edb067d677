//! Traces of Langfuse.
//!
//! | Langfuse: traces with observations; rows and pages of observations | a trace | scores such as `success`; an error of the root |
//!
//! - traces of five frameworks in the tests of Langfuse | 62751446 | 2026-11-22 | captured
//! - rows of observations, and pages of them | | 2026-11-29 | written

use std::collections::HashSet;

use crate::{
    prelude::*,
    spans::{self, Span, SpanKind},
};

pub const FORMAT: Format =
    Format { name: "langfuse", domain: "general", fits, open: open::<Interleaved<Trace>> };

fn fits(value: Value, _kind: Option<&str>) -> bool {
    let is_trace = || value.object("trace").is_some() || value.has("id");
    (value.list("observations").is_some() && is_trace()) || is_row(value) || is_page(value)
}

/// Returns whether a value is a page of observations, as the API returns it.
fn is_page(value: Value) -> bool {
    value.list("data").and_then(Array::first).is_some_and(is_row)
}

/// Returns whether a value is an observation by itself, as in exports of observations.
fn is_row(value: Value) -> bool {
    const KINDS: &str =
        "SPAN GENERATION EVENT AGENT TOOL CHAIN RETRIEVER EVALUATOR EMBEDDING GUARDRAIL";
    value.first_name(&TRACE).is_some()
        && KINDS.split(' ').any(|known| known == kind(value))
        && START.iter().any(|name| value.has(name))
}

const TRACE: [&str; 2] = ["traceId", "trace_id"];
const START: [&str; 2] = ["startTime", "start_time"];

fn kind(observation: Value) -> String {
    observation.text("type").unwrap_or_default().to_ascii_uppercase()
}

/// The observations of a trace, and their size in bytes.
#[derive(Default)]
pub struct Trace(Vec<Document<'static>>, usize);

impl FormatReader for Interleaved<Trace> {
    fn read(&mut self, value: Value, out: &mut Sink) {
        if is_page(value) {
            out.report.skipped.objects(value.get("data")).for_each(|row| self.read(row, out));
        } else if value.list("observations").is_some() {
            let trace = value.object("trace").unwrap_or(value);
            let mut begun = out.begin();
            let observations = begun.skipped.objects(value.get("observations")).collect();
            out.run(run(Some(trace), observations, begun, out));
        } else if let Some(id) = value.first_name(&TRACE) {
            let row = Document::copy(value).unwrap_or_default();
            self.add_to(id, out, |trace, _| {
                trace.1 += row.size();
                trace.0.push(row);
            });
        }
    }

    fn finish(&mut self, out: &mut Sink) {
        self.end_all(out);
    }
}

impl State for Trace {
    fn size(&self) -> usize {
        self.1
    }

    fn end(self, begun: Run, out: &mut Sink) {
        out.run(run(None, self.0.iter().map(Document::root).collect(), begun, out));
    }
}

fn run(trace: Option<Value>, observations: Vec<Value>, begun: Run, out: &Sink) -> Run {
    let called = called_tools(&observations);
    let spans: Vec<_> =
        observations.iter().map(|&value| span(value, &called, begun.given.is_kept)).collect();

    let key = trace.name("id").map(Into::into).or(begun.key);
    let mut run = spans::run(&Vec::from_iter(&spans), key, out);
    let asked = run.objective.take().map(|text| (text, Origin::Field));
    let name = trace.map(|trace| Some((trace.name("name")?.into(), Origin::Name)));
    let time = trace.map(|trace| trace.first(&["timestamp", "createdAt"]).and_then(time::utc));
    run.skipped.merge(begun.conversation.skipped);
    Run {
        line: begun.line,
        objective: trace.member("input").and_then(messages::human),
        fallback: asked.or(name.unwrap_or(run.fallback)),
        label: trace.elements("scores").find_map(label),
        confidence: trace.elements("scores").find_map(confidence),
        created_at: time.unwrap_or(run.created_at),
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

fn called_tools(observations: &[Value]) -> HashSet<String> {
    let answers = observations.iter().filter_map(|value| value.member("output"));
    let answers = answers.filter_map(|output| messages_of(output, Side::Output));
    let events = answers.flat_map(|messages| Conversation::of(&messages).events);
    events.filter_map(|event| Some(event.call()?.name.clone())).collect()
}

fn span<'d>(observation: Value<'d>, called: &HashSet<String>, keeps_given: bool) -> Span<'d> {
    let name = observation.text("name").unwrap_or_default();
    let usage = observation.first(&["usageDetails", "usage_details"]).map(Value::decoded);
    let recorded = ["input", "output"].map(|name| observation.member(name));
    let [input, output] = recorded;
    let mut span = Span {
        id: observation.name("id"),
        parent: observation.first_name(&["parentObservationId", "parent_observation_id"]),
        name,
        start: observation.first(&START).and_then(time::instant),
        end: observation.first(&["endTime", "end_time"]).and_then(time::instant),
        model: observation.name("model"),
        tokens: spans::tokens(usage),
        has_failed: observation.text("level") == Some("ERROR"),
        asked: input.into_iter().collect(),
        message: observation.first_name(&["statusMessage", "status_message"]),
        ..Span::default()
    };
    if keeps_given {
        let attributes = observation.member("metadata").map(Value::decoded).member("attributes");
        let given = recorded.into_iter().chain([attributes]).flatten();
        span.given = given.map(Value::decoded).collect();
    }
    // Some frameworks record `null` as a string.
    let of_tool = output.filter(|output| output.as_str() != Some("null"));
    let is_called = || of_tool.and(spans::tool_names(name).find(|name| called.contains(*name)));
    let kind = kind(observation);
    if ["GENERATION", "AGENT"].contains(&&*kind) {
        let sides = Side::BOTH.map(|side| messages_of(recorded[side as usize]?, side));
        let is_empty = |side| recorded[side as usize].is_none_or(spans::is_empty);
        span.set_sides(kind == "AGENT", sides, is_empty);
        span.is_plain = output.is_some_and(|output| output.decoded().is_string());
    } else if kind == "TOOL" || is_called().is_some() {
        span.kind = tool(observation, name, input, of_tool);
    }
    span
}

fn tool<'d>(
    observation: Value,
    name: &str,
    input: Option<Value>,
    output: Option<Value<'d>>,
) -> SpanKind<'d> {
    let metadata = observation.member("metadata").map(Value::decoded);
    let attributes = metadata.member("attributes").map(Value::decoded);
    let name = attributes.first_name(&["gen_ai.tool.name", "ai.toolCall.name"]).unwrap_or(name);
    let id = attributes.first_name(&["gen_ai.tool.call.id", "ai.toolCall.id"]);
    let input = input.map(|input| {
        let input = input.decoded();
        spans::only_member(input, "input").and_then(Value::as_object).unwrap_or(input)
    });
    SpanKind::tool(name, id, input, output)
}
