//! Spans and log records of OpenTelemetry.

mod attributes;
mod envelope;

use std::collections::BTreeMap;

use self::envelope::Record;
use super::{
    runs::{OpenRuns, Session},
    spans::{self, Span, SpanKind, Spans},
};
use crate::{
    events::{Run, TOO_MANY_VALUES},
    format::{ReadRuns, Runs},
    json::{Array, Members, Value},
};

pub fn fits(value: Value) -> bool {
    let is_list = |name| value.list(name).is_some();
    let first = value.list("data").and_then(Array::first);
    ["resourceSpans", "resourceLogs", "batches"].into_iter().any(is_list)
        || value.object("trace").list("resourceSpans").is_some()
        || first.list("spans").is_some()
        || envelope::is_span(value)
}

#[derive(Default)]
pub struct Trace {
    spans: Spans,
    logs: Vec<Log>,
}

/// The id of the span of a log record, and its messages.
type Log = (String, [Vec<String>; 2]);

impl ReadRuns for OpenRuns<Trace> {
    fn read(&mut self, value: Value, out: &mut Runs) {
        for record in envelope::records(value) {
            match record {
                Record::Span(span) => match envelope::span(span) {
                    Ok(Some((id, span))) => {
                        self.add_to(&id, out, |trace, out| trace.spans.push(span, out));
                    }
                    Ok(None) => out.skip("malformed"),
                    Err(_) => out.too_large(out.line, TOO_MANY_VALUES),
                },
                Record::Log(record) => match envelope::log(record) {
                    Ok(Some((id, (span, messages)))) => self.add_to(&id, out, |trace, _| {
                        let texts = messages.iter().flatten().chain([&span]);
                        trace.spans.size += texts.map(String::len).sum::<usize>();
                        trace.logs.push((span, messages));
                    }),
                    Ok(None) => out.skip("other_log"),
                    Err(_) => out.too_large(out.line, TOO_MANY_VALUES),
                },
            }
        }
    }

    fn finish(&mut self, out: &mut Runs) {
        self.end_all(out);
    }
}

impl Session for Trace {
    fn size(&self) -> usize {
        self.spans.size
    }

    /// Adds its runs: one for each agent that is below no other, and one for all other spans.
    fn end(mut self, trace: Run, out: &mut Runs) {
        let trace = trace.key.unwrap_or_default();
        for (id, messages) in self.logs {
            match self.spans.get(&id) {
                Some(span) => span.add_events(messages),
                None => out.skip("other_log"),
            }
        }
        self.spans.all.iter_mut().for_each(attributes::interpret);

        let spans: Vec<_> = self.spans.all.iter().collect();
        let is_agent = |span: &Span| matches!(span.kind, SpanKind::Agent);
        let mut runs: BTreeMap<_, Vec<&Span>> = BTreeMap::new();
        for (&span, agent) in spans.iter().zip(spans::tops(&spans, is_agent)) {
            let agent = agent.map(|agent| (spans[agent].start, agent));
            runs.entry((agent.is_none(), agent)).or_default().push(span);
        }
        for ((_, agent), spans_of_run) in runs {
            let is_step = |span: &&Span| matches!(span.kind, SpanKind::Model | SpanKind::Tool(_));
            if let Some((_, agent)) = agent {
                let id = spans[agent].id.as_deref().unwrap_or_default();
                out.run(spans::run(&spans_of_run, Some(format!("{trace}:{id}"))));
            } else if spans_of_run.iter().any(is_step) {
                out.run(spans::run(&spans_of_run, Some(trace.clone())));
            } else {
                for span in spans_of_run {
                    out.skip("other_span");
                    out.report.skipped.add_many("unreadable", span.unreadable);
                }
            }
        }
    }
}
