//! Spans and log records of OpenTelemetry.

mod attributes;
mod envelope;

use std::collections::HashMap;

use self::{
    attributes::{EventMessages, Recorded},
    envelope::Item,
};
use super::{
    runs::{Session, Traces},
    spans::{self, Forest, Span, SpanKind},
};
use crate::{
    events::{Origin, Run, TOO_MANY_VALUES},
    format::{ReadRuns, Runs},
    json::{Array, Members, Value},
    time,
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
pub struct Spans {
    spans: Vec<Recorded>,
    by_id: HashMap<String, usize>,
    /// The messages of log records, and the ids of their spans.
    logs: Vec<(String, EventMessages)>,
    size: usize,
}

impl ReadRuns for Traces<Spans> {
    fn read(&mut self, value: Value, line: u64, out: &mut Runs) {
        envelope::read(value, |item| match item {
            Ok(Item::Span(id, mut recorded)) => {
                recorded.line = line;
                self.add(&id, line, out, |trace, out| trace.push(*recorded, out));
            }
            Ok(Item::Log(id, span, messages)) => {
                self.add(&id, line, out, |trace, _| {
                    trace.size += span.len() + messages.size();
                    trace.logs.push((span, messages));
                });
            }
            Ok(Item::Skipped(reason)) => out.skip(reason),
            Err(_) => out.too_large(line, TOO_MANY_VALUES),
        });
    }

    fn finish(&mut self, out: &mut Runs) {
        self.end_all(out);
    }
}

impl Spans {
    fn push(&mut self, recorded: Recorded, out: &mut Runs) {
        if let Some(id) = &recorded.span.id {
            if self.by_id.contains_key(id) {
                return out.skip("repeated");
            }
            self.by_id.insert(id.clone(), self.spans.len());
        }
        self.size += recorded.size();
        self.spans.push(recorded);
    }
}

impl Session for Spans {
    fn size(&self) -> usize {
        self.size
    }

    /// Adds its runs: one for each agent that is below no other, and one for all other spans.
    fn end(mut self, trace: Run, out: &mut Runs) {
        let trace = trace.key.unwrap_or_default();
        for (id, messages) in self.logs {
            match self.by_id.get(&id).and_then(|index| self.spans.get_mut(*index)) {
                Some(recorded) => recorded.events.extend(messages),
                None => out.skip("other_log"),
            }
        }
        self.spans.iter_mut().for_each(Recorded::interpret);

        let spans: Vec<_> = self.spans.iter().map(|recorded| &recorded.span).collect();
        let forest = Forest::new(&spans);
        let (mut agents, mut others) =
            forest.split(|index| matches!(spans[index].kind, SpanKind::Agent));
        agents.sort_by_key(|agent| agent.first().map(|&index| (spans[index].start, index)));
        for group in agents {
            let mut members = group.to_vec();
            members.sort_unstable();
            let agent = group.first().map(|&index| &self.spans[index]);
            let id = agent.and_then(|agent| agent.span.id.as_deref()).unwrap_or_default();
            let mut run = run(&self.spans, &members, agent, format!("{trace}:{id}"));
            run.objective = agent.and_then(Recorded::objective);
            out.run(run);
        }
        others.sort_unstable();
        let is_run =
            |&index: &usize| matches!(spans[index].kind, SpanKind::Model | SpanKind::Tool(_));
        if others.iter().any(is_run) {
            let members: Vec<_> = others.iter().map(|&index| spans[index]).collect();
            let root = spans::first_root(&members).map(|index| &self.spans[others[index]]);
            out.run(run(&self.spans, &others, root, trace));
        } else {
            for index in others {
                out.skip("other_span");
                out.report.skipped.add_many("unreadable", spans[index].unreadable);
            }
        }
    }
}

/// Returns the run of the spans with these indices. `root` gives its status and its name.
fn run(all: &[Recorded], members: &[usize], root: Option<&Recorded>, key: String) -> Run {
    let spans: Vec<&Span> = members.iter().map(|&index| &all[index].span).collect();
    let mut run = Run {
        key: Some(key),
        fallback: root.and_then(Recorded::title).map(|title| (title, Origin::Name)),
        status: root.and_then(|root| root.span.status),
        created_at: spans.iter().filter_map(|span| span.start).min().map(time::written),
        ..Run::at(members.first().map_or(1, |&index| all[index].line))
    };
    spans::read_spans(&spans, |index, run| all[members[index]].read_sides(run), &mut run);
    run
}
