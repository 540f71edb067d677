//! Spans of agents, and how they become events: OpenTelemetry and Langfuse record the same things.
//!
//! Model calls repeat the conversation so far, spans of tools repeat what model calls say of them, and
//! frameworks wrap spans in spans. Each thing that happened becomes one event.

mod forest;
mod history;
mod tools;

use std::{cell::RefCell, collections::HashMap};

use jiff::Timestamp;

use self::history::History;
pub(crate) use self::{
    forest::{Forest, first_root},
    tools::tool_names,
};
use crate::{
    event::{Input, Run, Skipped},
    failure,
    json::{self, Kind as JsonKind, Value},
    messages::Messages,
    text,
};

/// A span, whatever recorded it.
#[derive(Debug, Default)]
pub(crate) struct Span {
    /// Its id, unique in its trace.
    pub id: Option<String>,
    /// The id of the span above it.
    pub parent: Option<String>,
    /// The name that it shows.
    pub name: String,
    /// When it began.
    pub start: Option<Timestamp>,
    /// Whether it ended in order; `None` if it does not say so.
    pub status: Option<bool>,
    /// What it says of its status.
    pub message: Option<String>,
    /// What it stands for.
    pub kind: Kind,
    /// Whether messages went in.
    pub has_input: bool,
    /// Whether messages came out.
    pub has_output: bool,
    /// Whether what came out is text alone, which says less than messages.
    pub is_plain: bool,
    /// How many of the two sides hold something that cannot be read.
    pub unreadable: u64,
}

/// What a span stands for.
#[derive(Debug, Default)]
pub(crate) enum Kind {
    /// A run of an agent.
    Agent,
    /// A call of a model.
    Model,
    /// A call of a tool.
    Tool(Tool),
    /// Anything else.
    #[default]
    Other,
}

/// What the span of a tool records.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The name of the tool.
    pub name: String,
    /// The id of the call.
    pub id: Option<String>,
    /// What the tool was called with.
    pub input: Input,
    /// What it gave back, until that is an event.
    pub output: RefCell<Option<Output>>,
}

/// What a tool gave back.
#[derive(Debug)]
pub(crate) struct Output {
    /// Its text.
    pub text: String,
    /// Whether it says that it is a failure; `None` if it says nothing.
    pub failed: Option<bool>,
    /// What of it is not imported.
    pub skipped: Skipped,
}

impl Output {
    pub fn recorded(value: Value) -> Self {
        let mut skipped = Skipped::default();
        let text = text::recorded(value, &mut skipped);
        let failed = failure::flag(value.decoded()).or(text.failed);
        Self { text: text.text, failed, skipped }
    }
}

impl Span {
    /// Returns whether it has messages on any side.
    pub fn has_messages(&self) -> bool {
        self.has_input || self.has_output
    }

    /// Returns how many of its sides have messages.
    fn quality(&self) -> u8 {
        u8::from(self.has_input) + u8::from(self.has_output && !self.is_plain)
    }

    fn is_error(&self) -> bool {
        self.status == Some(false)
    }
}

/// Returns whether a recorded side of a model call holds nothing.
pub(crate) fn is_empty(value: Value) -> bool {
    match value.decoded().kind() {
        JsonKind::Null => true,
        JsonKind::String(text) => json::is_blank(text),
        JsonKind::Array(elements) => elements.is_empty(),
        JsonKind::Object(object) => object.members().next().is_none(),
        JsonKind::Bool(_) | JsonKind::Number(_) => false,
    }
}

/// The messages of both sides of a model call.
#[derive(Default, Clone, Copy)]
pub(crate) struct Sides<'d> {
    /// What went in.
    pub input: Option<Messages<'d>>,
    /// What came out.
    pub output: Option<Messages<'d>>,
}

/// Takes the messages of both sides.
pub(crate) type TakeSides<'a> = &'a mut dyn FnMut(Sides);

/// Reads the spans of a run into its events. `messages` hands over those of the span at an index: together,
/// as most repeat those before, they take many times the place of what they are read from.
pub(crate) fn read(spans: &[&Span], messages: impl Fn(usize, TakeSides), run: &mut Run) {
    let is_wrapper = wrappers(spans);
    let mut kept: Vec<_> = (0..spans.len()).filter(|&index| !is_wrapper[index]).collect();
    run.skipped.add_many("wrapper_span", (spans.len() - kept.len()) as u64);
    kept.sort_by_key(|&index| spans[index].start);

    let mut models = Vec::new();
    let mut tools = Vec::new();
    for &index in &kept {
        let span = spans[index];
        match &span.kind {
            Kind::Model => models.push(index),
            Kind::Tool(tool) => tools.push((span, tool)),
            Kind::Agent => {}
            Kind::Other => {
                run.skipped.add("other_span");
                run.skipped.add_many("unreadable", span.unreadable);
            }
        }
    }
    if models.is_empty() {
        let is_agent = |span: &Span| matches!(span.kind, Kind::Agent) && span.has_messages();
        models.extend(kept.into_iter().find(|&index| is_agent(spans[index])));
    }

    let mut history = History::default();
    let mut sequences = Vec::new();
    for index in models {
        let before = history.events.len();
        messages(index, &mut |sides| history.read(sides, &mut run.skipped));
        run.skipped.add_many("unreadable", spans[index].unreadable);
        sequences.push((spans[index].start, history.events.len() - before));
    }
    run.skipped.merge(std::mem::take(&mut history.skipped));
    let tools = tools::read(tools, &mut history, &mut run.skipped);

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

/// Finds the spans that only stand around others which say as much.
fn wrappers(spans: &[&Span]) -> Vec<bool> {
    let forest = Forest::new(spans);
    // Of each place, the best quality of the model calls below it.
    let mut best_below = vec![None; spans.len()];
    for (place, &index) in forest.order.iter().enumerate().rev() {
        let own = matches!(spans[index].kind, Kind::Model).then(|| spans[index].quality());
        if let Some(parent) = forest.parents[place] {
            best_below[parent] = best_below[parent].max(best_below[place]).max(own);
        }
    }
    let mut is_wrapper = vec![false; spans.len()];
    let mut end_of_model = 0;
    let mut ends_of_tools: HashMap<&str, usize> = HashMap::new();
    for (place, &index) in forest.order.iter().enumerate() {
        let end = match &spans[index].kind {
            Kind::Model if best_below[place] < Some(spans[index].quality()) => &mut end_of_model,
            Kind::Model => {
                is_wrapper[index] = true;
                continue;
            }
            Kind::Tool(tool) => ends_of_tools.entry(&tool.name).or_default(),
            Kind::Agent | Kind::Other => continue,
        };
        if place < *end {
            is_wrapper[index] = true;
        } else {
            *end = forest.ends[place];
        }
    }
    is_wrapper
}
