//! Reads the spans of OpenTelemetry, Langfuse and LangSmith into the events of a run.
//!
//! Model calls repeat the conversation so far, spans of tools repeat parts of model calls, and frameworks wrap
//! spans in spans. Whatever happened once becomes one event.

mod forest;
mod history;
mod tools;

use std::{cell::RefCell, collections::HashMap};

use jiff::Timestamp;

use self::history::History;
pub use self::{
    forest::{Forest, first_root},
    tools::tool_names,
};
use super::messages::Side;
use crate::{
    events::{CallInput, Run, Skipped},
    json::{self, Kind, Members, Value},
    results::{self, Output},
};

#[derive(Debug, Default)]
pub struct Span {
    pub id: Option<String>,
    pub parent: Option<String>,
    pub name: String,
    pub start: Option<Timestamp>,
    /// Whether it ended in order, if that is recorded.
    pub status: Option<bool>,
    pub message: Option<String>,
    pub kind: SpanKind,
    /// Of both sides.
    pub has_messages: [bool; 2],
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
    pub name: String,
    pub id: Option<String>,
    pub input: CallInput,
    /// What [`recorded_output`] returns, until it becomes an event.
    pub output: RefCell<Option<(Output, Skipped)>>,
}

/// Returns the recorded output of a tool, and what of it is not imported.
pub fn recorded_output(value: Value) -> (Output, Skipped) {
    let mut skipped = Skipped::default();
    let Output { text, failed } = results::recorded(value, &mut skipped);
    let failed = results::flag(value.decoded()).or(failed);
    (Output { text, failed }, skipped)
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
    /// Sets which sides have messages, and counts non-empty sides without any. A span with messages is a model
    /// call, unless it is an agent.
    pub fn set_sides(
        &mut self,
        is_agent: bool,
        has_messages: [bool; 2],
        is_empty: impl Fn(Side) -> bool,
    ) {
        self.has_messages = has_messages;
        for (side, has_messages) in Side::BOTH.into_iter().zip(has_messages) {
            self.unreadable += u64::from(!has_messages && !is_empty(side));
        }
        if is_agent {
            self.kind = SpanKind::Agent;
        } else if has_messages.contains(&true) {
            self.kind = SpanKind::Model;
        }
    }

    /// Returns the approximate size in bytes, as long as its kind is not known.
    pub fn size(&self) -> usize {
        let texts = [&self.id, &self.parent, &self.message].into_iter().flatten();
        size_of::<Self>() + self.name.len() + texts.map(String::len).sum::<usize>()
    }

    fn quality(&self) -> u8 {
        let [input, output] = self.has_messages;
        u8::from(input) + u8::from(output && !self.is_plain)
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

/// Reads the spans of a run into its events. `read_sides` reads the messages of the span at an index. They are read
/// one by one, as together they take many times the memory of what they are read from.
pub fn read_spans(spans: &[&Span], read_sides: impl Fn(usize, &mut Run), run: &mut Run) {
    let is_wrapper = wrappers(spans);
    let mut kept: Vec<_> = (0..spans.len()).filter(|&index| !is_wrapper[index]).collect();
    run.skipped.add_many("wrapper_span", (spans.len() - kept.len()) as u64);
    kept.sort_by_key(|&index| spans[index].start);

    let mut models = Vec::new();
    let mut tools = Vec::new();
    for &index in &kept {
        let span = spans[index];
        match &span.kind {
            SpanKind::Model => models.push(index),
            SpanKind::Tool(tool) => tools.push((span, tool)),
            SpanKind::Agent => {}
            SpanKind::Other => {
                run.skipped.add("other_span");
                run.skipped.add_many("unreadable", span.unreadable);
            }
        }
    }
    if models.is_empty() {
        let is_agent =
            |span: &Span| matches!(span.kind, SpanKind::Agent) && span.has_messages.contains(&true);
        models.extend(kept.into_iter().find(|&index| is_agent(spans[index])));
    }

    let mut history = History::default();
    let mut sequences = Vec::new();
    for index in models {
        let before = history.events.len();
        history.read(|call| read_sides(index, call), &mut run.skipped);
        run.skipped.add_many("unreadable", spans[index].unreadable);
        sequences.push((spans[index].start, history.events.len() - before));
    }
    run.skipped.merge(std::mem::take(&mut history.skipped));
    let tools = tools::read_tools(tools, &mut history, &mut run.skipped);

    let mut events = history.events.into_iter();
    let mut tools = tools.into_iter().peekable();
    for (start, count) in sequences {
        while let Some((_, events)) = tools.next_if(|(tool_start, _)| *tool_start < start) {
            run.events.extend(events);
        }
        run.events.extend(events.by_ref().take(count));
    }
    run.events.extend(tools.flat_map(|(_, events)| events));
}

/// Returns for each span whether it only wraps others that record as much.
fn wrappers(spans: &[&Span]) -> Vec<bool> {
    let forest = Forest::new(spans);
    // For each place, the best quality of the model calls below it.
    let mut best_below = vec![None; spans.len()];
    for (place, &index) in forest.order.iter().enumerate().rev() {
        let own = matches!(spans[index].kind, SpanKind::Model).then(|| spans[index].quality());
        if let Some(parent) = forest.parents[place] {
            best_below[parent] = best_below[parent].max(best_below[place]).max(own);
        }
    }
    let mut is_wrapper = vec![false; spans.len()];
    let mut end_of_model = 0;
    let mut ends_of_tools: HashMap<&str, usize> = HashMap::new();
    for (place, &index) in forest.order.iter().enumerate() {
        let end = match &spans[index].kind {
            SpanKind::Model if best_below[place] < Some(spans[index].quality()) => {
                &mut end_of_model
            }
            SpanKind::Model => {
                is_wrapper[index] = true;
                continue;
            }
            SpanKind::Tool(tool) => ends_of_tools.entry(&tool.name).or_default(),
            SpanKind::Agent | SpanKind::Other => continue,
        };
        if place < *end {
            is_wrapper[index] = true;
        } else {
            *end = forest.ends[place];
        }
    }
    is_wrapper
}
