//! Spans and log records of OpenTelemetry.
//!
//! | OpenTelemetry: OTLP/JSON, Tempo, Jaeger, pages of Phoenix, single spans; with the conventions for GenAI, OpenInference, the AI SDK, OpenLLMetry, Strands Agents, Langfuse | an agent's span, or the rest of a trace | an error of the span |
//!
//! - spans in the tests of OpenInference and agentevals | 1fe497f1, bf9fe11b | 2026-11-22 | captured
//! - spans of the AI SDK | `ai` 7.0.173 | 2026-11-22 | captured
//! - the GenAI conventions of OpenTelemetry | | 2026-11-22 | source
//! - spans of Strands Agents, GenAI conventions 1.40 | 1.x | 2026-11-26 | written
//! - answers of Phoenix's `/v1/projects/{project}/spans`, compared with its schema | | 2026-11-29 | written
//! - spans of Langfuse's SDKs, ADK, smolagents; log records without spans | | 2026-11-29 | written

mod attributes;
mod envelope;
mod flat;
mod wrapper;

use std::collections::BTreeMap;

use crate::{
    limits::TOO_MANY_VALUES,
    prelude::*,
    spans::{self, Recorded, Span, SpanKind, Spans},
};

pub const FORMAT: Format =
    Format { name: "otel", domain: "general", fits, open: open::<Interleaved<Trace>> };

fn fits(value: Value, _kind: Option<&str>) -> bool {
    let is_list = |name| value.list(name).is_some();
    let first = value.list("data").and_then(Array::first);
    ["resourceSpans", "resourceLogs", "batches"].into_iter().any(is_list)
        || value.object("trace").list("resourceSpans").is_some()
        || first.list("spans").is_some()
        || envelope::is_page(value)
        || envelope::is_span(value)
}

#[derive(Default)]
pub struct Trace {
    spans: Spans,
    /// The log records.
    logs: Vec<Recorded>,
    has_run: bool,
}

impl FormatReader for Interleaved<Trace> {
    fn read(&mut self, value: Value, out: &mut Sink) {
        for span in envelope::spans(value) {
            match envelope::span(span, out.options.messages) {
                Ok(Some((id, span))) => {
                    self.add_to(&id, out, |trace, out| {
                        trace.has_run = trace.has_run || attributes::is_of_run(&span);
                        trace.spans.push(span, out);
                    });
                }
                Ok(None) => out.skip("malformed"),
                Err(_) => out.too_large(out.line, TOO_MANY_VALUES),
            }
        }
        for record in envelope::logs(value) {
            match envelope::log(record, out.line) {
                Ok(Some((id, log))) => self.add_to(&id, out, |trace, _| {
                    trace.spans.size += log.size();
                    trace.logs.push(log);
                    trace.has_run = true;
                }),
                Ok(None) => out.skip("other_log"),
                Err(_) => out.too_large(out.line, TOO_MANY_VALUES),
            }
        }
    }

    fn finish(&mut self, out: &mut Sink) {
        self.end_all(out);
    }
}

impl State for Trace {
    fn has_run(&self) -> bool {
        self.has_run
    }

    fn size(&self) -> usize {
        self.spans.size
    }

    /// Adds its runs: one for each agent that is below no other, and one for all other spans.
    fn end(mut self, trace: Run, out: &mut Sink) {
        let trace = trace.key.unwrap_or_default();
        let are_alone = self.spans.all.is_empty();
        for log in self.logs {
            match log.id.as_deref().and_then(|id| self.spans.get(id)) {
                Some(span) => span.events.extend(log.events),
                None if are_alone => self.spans.push(log, out),
                None => out.skip("other_log"),
            }
        }
        let keeps_given = out.options.messages;
        let spans = self.spans.all.iter().map(|span| attributes::interpret(span, keeps_given));
        let spans: Vec<_> = spans.collect();
        let spans: Vec<_> = spans.iter().collect();
        let is_agent = |span: &Span| matches!(span.kind, SpanKind::Agent);
        let mut runs: BTreeMap<_, Vec<&Span>> = BTreeMap::new();
        for (&span, agent) in spans.iter().zip(spans::tops(&spans, is_agent)) {
            let agent = agent.map(|agent| (spans[agent].start, agent));
            runs.entry((agent.is_none(), agent)).or_default().push(span);
        }
        for ((_, agent), spans_of_run) in runs {
            let is_step = |span: &&Span| matches!(span.kind, SpanKind::Model | SpanKind::Tool(_));
            if let Some((_, agent)) = agent {
                let id = spans[agent].id.unwrap_or_default();
                out.run(spans::run(&spans_of_run, Some(format!("{trace}:{id}")), out));
            } else if spans_of_run.iter().any(is_step) {
                out.run(spans::run(&spans_of_run, Some(trace.clone()), out));
            } else {
                for span in spans_of_run {
                    out.skip("other_span");
                    out.report.skipped.add_many("unreadable", span.unreadable);
                }
            }
        }
    }
}
