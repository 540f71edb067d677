//! The run of some spans.

use std::collections::HashMap;

use super::{
    forest::{Node, first_root, forest},
    history::History,
    span::{Span, SpanKind},
    tools,
};
use crate::{format::Sink, json, messages, provenance::Origin, run::Run, time};

/// Returns the run of some spans, whose first root gives the objective, the name and the failure.
pub fn run(spans: &[&Span], key: Option<String>, out: &Sink) -> Run {
    let forest = forest(spans);
    let root = first_root(spans, &forest).map(|root| spans[root]);
    let name = root.map(|root| root.name).filter(|name| !json::is_blank(name));
    let mut run = Run {
        key,
        objective: root.and_then(|root| root.asked.iter().copied().find_map(messages::human)),
        fallback: name.map(|name| (name.into(), Origin::Name)),
        has_failed: root.is_some_and(|root| root.has_failed),
        created_at: spans.iter().filter_map(|span| span.start).min().map(time::written),
        line: spans.first().map_or(1, |span| span.line),
        ..out.begin()
    };

    let kept = without_wrappers(spans, &forest);
    let is_delegated = below_tools(spans, &forest);
    run.skipped.add_many("wrapper_span", (spans.len() - kept.len()) as u64);
    let mut models = Vec::new();
    let mut tools = Vec::new();
    for (place, &index) in kept.iter().enumerate() {
        let span = spans[index];
        match &span.kind {
            SpanKind::Model => models.push((place, index)),
            SpanKind::Tool(tool) => tools.push((place, span, tool)),
            SpanKind::Agent => {}
            SpanKind::Other => {
                run.skipped.add("other_span");
                run.skipped.add_many("unreadable", span.unreadable);
            }
        }
    }
    let has_models = !models.is_empty();
    if !has_models {
        let is_agent = |span: &Span| matches!(span.kind, SpanKind::Agent) && span.has_messages();
        models.extend(kept.iter().copied().enumerate().find(|(_, index)| is_agent(spans[*index])));
    }

    for span in spans {
        run.skipped.add_many("dropped_attribute", span.dropped);
    }
    for span in spans.iter().filter(|span| span.end.is_some()) {
        run.facts.time(span.start);
        run.facts.time(span.end);
    }
    let mut history = History::default();
    let mut places = Vec::new();
    for (place, index) in models {
        let span = spans[index];
        history.read(span, is_delegated[index], &mut run);
        run.facts.add(span.tokens);
        run.facts.model(span.model);
        places.resize(history.events.len(), place);
        run.skipped.add_many("unreadable", span.unreadable);
    }
    run.skipped.merge(std::mem::take(&mut history.skipped));
    let mut events = Vec::new();
    for (place, call, event) in tools::read_tools(tools, &mut history, &mut run) {
        // An agent's span begins before those of its tools, and has all that it said.
        let call = call.filter(|_| !has_models);
        events.push((call.map_or((place, usize::MAX), |call| (places[call], call)), event));
    }
    let said = places.into_iter().zip(0..).zip(history.events);
    let mut events: Vec<_> = said.chain(events).collect();
    events.sort_by_key(|(order, _)| *order);
    run.events.extend(events.into_iter().map(|(_, event)| event));
    run
}

/// Returns for each span whether a tool of the run has started it.
fn below_tools(spans: &[&Span], forest: &[Node]) -> Vec<bool> {
    let mut is_below = vec![false; spans.len()];
    for node in forest {
        if let Some(parent) = node.parent.map(|place| &forest[place]) {
            let is_tool = matches!(spans[parent.index].kind, SpanKind::Tool(_));
            is_below[node.index] = is_below[parent.index] || (is_tool && parent.parent.is_some());
        }
    }
    is_below
}

/// Returns the places of the spans, sorted by start, without those that only wrap others that record as much.
fn without_wrappers(spans: &[&Span], forest: &[Node]) -> Vec<usize> {
    // For each place, the best quality of the model calls below it.
    let mut best_below = vec![None; spans.len()];
    for (place, node) in forest.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            let best = best_below[place].max(spans[node.index].quality());
            best_below[parent] = best_below[parent].max(best);
        }
    }
    let mut kept = Vec::new();
    let mut end_of_model = 0;
    let mut ends_of_tools: HashMap<_, usize> = HashMap::new();
    for (place, node) in forest.iter().enumerate() {
        let span = spans[node.index];
        let end = match &span.kind {
            SpanKind::Model if best_below[place] < span.quality() => &mut end_of_model,
            SpanKind::Model => continue,
            SpanKind::Tool(tool) => {
                ends_of_tools.entry((&tool.call.name, tool.call.input.hash())).or_default()
            }
            SpanKind::Agent | SpanKind::Other => {
                kept.push(node.index);
                continue;
            }
        };
        if place >= *end {
            *end = node.end;
            kept.push(node.index);
        }
    }
    kept.sort_unstable_by_key(|&index| (spans[index].start, index));
    kept
}
