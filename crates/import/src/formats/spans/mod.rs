//! Reads the spans of OpenTelemetry, Langfuse and LangSmith into the events of a run.
//!
//! Model calls repeat the conversation so far, spans of tools repeat parts of model calls, and frameworks wrap
//! spans in spans. Whatever happened once becomes one event.

mod forest;
mod history;
mod tools;

use std::{cell::RefCell, collections::HashMap};

use jiff::Timestamp;

use self::{forest::Node, history::History};
pub use self::{
    forest::{first_root, forest, tops},
    tools::tool_names,
};
use super::{
    messages::{Messages, Side, Sides},
    runs::Ids,
};
use crate::{
    events::{Call, CallInput, Origin, Run, Skipped},
    format::Runs,
    json::{self, Kind, Members, Value},
    results::{self, Output},
    time,
};

#[derive(Debug, Default)]
pub struct Span {
    pub line: u64,
    pub id: Option<String>,
    pub parent: Option<String>,
    pub name: String,
    pub start: Option<Timestamp>,
    /// Whether it ended in order, if that is recorded.
    pub status: Option<bool>,
    pub message: Option<String>,
    /// What the members below are set from when the whole trace is known, as JSON.
    pub json: String,
    /// The messages of both sides that its events have, each as JSON.
    pub events: [Vec<String>; 2],
    pub kind: SpanKind,
    /// The messages of both sides, as JSON, because values of all spans together take many times its memory.
    pub sides: [Option<String>; 2],
    /// The objective of a run of which it is the root.
    pub objective: Option<String>,
    /// Whether the output is text alone, which says less than messages.
    pub is_plain: bool,
    /// How many of the two sides cannot be read.
    pub unreadable: u64,
}

#[derive(Debug, Default)]
pub enum SpanKind {
    Agent,
    Model,
    Tool(Tool),
    #[default]
    Other,
}

/// A call of a tool as its span records it.
#[derive(Debug)]
pub struct Tool {
    /// The call, without its turn.
    pub call: Call,
    /// The output and what of it is not imported, until it becomes an event.
    pub output: RefCell<Option<(Output, Skipped)>>,
}

impl SpanKind {
    pub fn tool(name: &str, id: Option<&str>, input: Option<Value>, output: Option<Value>) -> Self {
        let output = output.map(|value| {
            let mut skipped = Skipped::default();
            let Output { text, failed } = results::recorded(value, &mut skipped);
            let failed = results::flag(value.decoded()).or(failed);
            (Output { text, failed }, skipped)
        });
        let call = Call::new(Some(name), CallInput::recorded(input), id, 0);
        Self::Tool(Tool { call, output: output.into() })
    }
}

/// Returns the success according to a score or feedback of this name, if it states any.
pub fn label(name: &str, value: Value) -> Option<bool> {
    let names = ["success", "task_success", "passed", "resolved", "is_correct"];
    let label = match value.as_f64() {
        Some(0.0) => Some(false),
        Some(1.0) => Some(true),
        _ => value.as_bool(),
    };
    label.filter(|_| names.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Returns the member of this name of an object without others.
pub fn only_member<'d>(object: Value<'d>, name: &str) -> Option<Value<'d>> {
    object.get(name).filter(|_| object.members().count() == 1)
}

impl Span {
    /// Sets the messages of both sides, and counts non-empty sides without any. A span with messages is a model
    /// call, unless it is an agent.
    pub fn set_sides(&mut self, is_agent: bool, sides: &Sides, is_empty: impl Fn(Side) -> bool) {
        let json = |messages: &Messages| messages.iter().map(Value::to_json).collect();
        self.sides = sides.each_ref().map(|messages| messages.as_ref().map(json));
        let unreadable = |side: &Side| sides[*side as usize].is_none() && !is_empty(*side);
        self.unreadable = Side::BOTH.iter().filter(|side| unreadable(side)).count() as u64;
        if is_agent {
            self.kind = SpanKind::Agent;
        } else if self.has_messages() {
            self.kind = SpanKind::Model;
        }
    }

    pub fn add_events(&mut self, [input, output]: [Vec<String>; 2]) {
        self.events[0].extend(input);
        self.events[1].extend(output);
    }

    fn has_messages(&self) -> bool {
        self.sides.iter().any(Option::is_some)
    }

    /// Returns the approximate size in bytes, as long as its kind is not known.
    fn size(&self) -> usize {
        let texts = [&self.id, &self.parent, &self.message].into_iter().flatten();
        let texts = texts.chain([&self.name, &self.json]).chain(self.events.iter().flatten());
        size_of::<Self>() + texts.map(String::len).sum::<usize>()
    }

    /// Returns how much a model call records; `None` for other spans.
    fn quality(&self) -> Option<u8> {
        let [input, output] = &self.sides;
        let quality = u8::from(input.is_some()) + u8::from(output.is_some() && !self.is_plain);
        matches!(self.kind, SpanKind::Model).then_some(quality)
    }

    fn is_error(&self) -> bool {
        self.status == Some(false)
    }
}

pub fn is_empty(value: Value) -> bool {
    match value.decoded().kind() {
        Kind::Null => true,
        Kind::String(text) => json::is_blank(text),
        Kind::Array(elements) => elements.is_empty(),
        Kind::Object(object) => object.members().next().is_none(),
        Kind::Bool(_) | Kind::Number(_) => false,
    }
}

/// The spans of a trace that is open.
#[derive(Default)]
pub struct Spans {
    pub all: Vec<Span>,
    places: Ids,
    pub size: usize,
}

impl Spans {
    pub fn push(&mut self, span: Span, out: &mut Runs) {
        let next = self.all.len() as u32;
        if self.places.get_or_insert(span.id.as_deref(), || next) != next {
            return out.skip("repeated");
        }
        self.size += span.size();
        self.all.push(Span { line: out.line, ..span });
    }

    pub fn get(&mut self, id: &str) -> Option<&mut Span> {
        self.all.get_mut(self.places.get(id)? as usize)
    }
}

/// Returns the run of some spans, whose first root gives the objective, the name and the status.
pub fn run(spans: &[&Span], key: Option<String>) -> Run {
    let forest = forest(spans);
    let root = first_root(spans, &forest).map(|root| spans[root]);
    let name = root.map(|root| &root.name).filter(|name| !json::is_blank(name));
    let mut run = Run {
        key,
        objective: root.and_then(|root| root.objective.clone()),
        fallback: name.map(|name| (name.clone(), Origin::Name)),
        status: root.and_then(|root| root.status).filter(|is_ok| !is_ok),
        created_at: spans.iter().filter_map(|span| span.start).min().map(time::written),
        ..Run::at(spans.first().map_or(1, |span| span.line))
    };

    let kept = without_wrappers(spans, &forest);
    run.skipped.add_many("wrapper_span", (spans.len() - kept.len()) as u64);
    let mut models = Vec::new();
    let mut tools = Vec::new();
    for (place, &span) in kept.iter().enumerate() {
        match &span.kind {
            SpanKind::Model => models.push((place, span)),
            SpanKind::Tool(tool) => tools.push((place, span, tool)),
            SpanKind::Agent => {}
            SpanKind::Other => {
                run.skipped.add("other_span");
                run.skipped.add_many("unreadable", span.unreadable);
            }
        }
    }
    if models.is_empty() {
        let is_agent = |span: &&Span| matches!(span.kind, SpanKind::Agent) && span.has_messages();
        models.extend(kept.iter().copied().enumerate().find(|(_, span)| is_agent(span)));
    }

    let mut history = History::default();
    let mut places = Vec::new();
    for (place, span) in models {
        history.read(&span.sides, &mut run);
        places.resize(history.events.len(), place);
        run.skipped.add_many("unreadable", span.unreadable);
    }
    run.skipped.merge(std::mem::take(&mut history.skipped));
    let of_tools = tools::read_tools(tools, &mut history, &mut run);
    let mut events: Vec<_> = places.into_iter().zip(history.events).chain(of_tools).collect();
    events.sort_by_key(|(place, _)| *place);
    run.events.extend(events.into_iter().map(|(_, event)| event));
    run
}

/// Returns the spans, sorted by start, without those that only wrap others that record as much.
fn without_wrappers<'a>(spans: &[&'a Span], forest: &[Node]) -> Vec<&'a Span> {
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
    let mut ends_of_tools: HashMap<&str, usize> = HashMap::new();
    for (place, node) in forest.iter().enumerate() {
        let span = spans[node.index];
        let end = match &span.kind {
            SpanKind::Model if best_below[place] < span.quality() => &mut end_of_model,
            SpanKind::Model => continue,
            SpanKind::Tool(tool) => ends_of_tools.entry(&tool.call.name).or_default(),
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
    kept.into_iter().map(|index| spans[index]).collect()
}
