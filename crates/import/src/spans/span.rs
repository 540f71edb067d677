//! A span of a trace.

use jiff::Timestamp;

use crate::{
    call::{Call, CallInput},
    facts::Tokens,
    format::Sink,
    ids::Ids,
    json::{self, Document, Kind, Members, Value},
    messages::{Message, Messages, Side, Sides, messages_of},
    run::truth,
};

/// A span as it is recorded, whose kind is not known until the whole trace is.
#[derive(Debug, Default)]
pub struct Recorded {
    pub line: u64,
    pub id: Option<String>,
    pub parent: Option<String>,
    pub name: String,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    pub has_failed: bool,
    pub message: Option<String>,
    /// How many of its attributes are not in the log, because of the limits of who recorded it.
    pub dropped: u64,
    /// What its kind follows from.
    pub attributes: Document<'static>,
    /// What its events and log records say.
    pub events: Vec<Said>,
}

/// What an event says on a side of a model call.
#[derive(Debug)]
pub struct Said {
    pub side: Side,
    /// The role of a message that may have none of its own; `None` if the value is not one message.
    pub role: Option<&'static str>,
    pub value: Document<'static>,
}

impl Said {
    pub fn messages(&self) -> Vec<Message<'_>> {
        let value = self.value.root();
        match self.role {
            Some(role) => vec![Message::or_as(role, value)],
            None => messages_of(value, self.side).iter().flat_map(Messages::iter).collect(),
        }
    }
}

impl Recorded {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        let texts = [&self.id, &self.parent, &self.message].into_iter().flatten();
        let said = self.events.iter().map(|said| &said.value);
        size_of::<Self>()
            + texts.chain([&self.name]).map(String::len).sum::<usize>()
            + said.chain([&self.attributes]).map(Document::size).sum::<usize>()
    }

    /// Returns the span, of no kind.
    pub fn span(&self) -> Span<'_> {
        Span {
            line: self.line,
            id: self.id.as_deref(),
            parent: self.parent.as_deref(),
            name: &self.name,
            start: self.start,
            end: self.end,
            has_failed: self.has_failed,
            message: self.message.as_deref(),
            dropped: self.dropped,
            ..Span::default()
        }
    }
}

/// A span of a run.
#[derive(Default)]
pub struct Span<'d> {
    pub line: u64,
    pub id: Option<&'d str>,
    pub parent: Option<&'d str>,
    pub name: &'d str,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    pub has_failed: bool,
    pub message: Option<&'d str>,
    pub dropped: u64,
    pub kind: SpanKind<'d>,
    pub sides: Sides<'d>,
    /// What has the objective of a run of which it is the root, if a person says anything in it.
    pub asked: Vec<Value<'d>>,
    /// The tokens and the model of a model call.
    pub tokens: Option<Tokens>,
    pub model: Option<&'d str>,
    /// Whether the output is text alone, which says less than messages.
    pub is_plain: bool,
    /// What has the instructions and the tools of a model call, if it is kept.
    pub given: Vec<Value<'d>>,
    /// How many of the two sides cannot be read.
    pub unreadable: u64,
}

#[derive(Default)]
pub enum SpanKind<'d> {
    Agent,
    Model,
    Tool(Tool<'d>),
    #[default]
    Other,
}

/// A call of a tool as its span records it.
pub struct Tool<'d> {
    /// The call, without its turn.
    pub call: Call,
    pub output: Option<Value<'d>>,
}

impl<'d> SpanKind<'d> {
    pub fn tool(
        name: &str,
        id: Option<&str>,
        input: Option<Value>,
        output: Option<Value<'d>>,
    ) -> Self {
        let call = Call::new(Some(name), CallInput::recorded(input), id, 0);
        Self::Tool(Tool { call, output })
    }
}

/// Returns the success according to a score or feedback of this name, if it states any.
pub fn label(name: &str, value: Value) -> Option<bool> {
    let names = ["success", "task_success", "passed", "resolved", "is_correct"];
    truth(value).filter(|_| names.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Returns the tokens in the details of a usage, as Langfuse has them.
pub fn tokens(details: Option<Value>) -> Option<Tokens> {
    let names = ["input", "output", "input_cache_read", "input_cache_creation"];
    Tokens::of(details, names).map(|tokens| tokens.by_total(details.get("total")))
}

/// Returns the member of this name of an object without others.
pub fn only_member<'d>(object: Value<'d>, name: &str) -> Option<Value<'d>> {
    object.get(name).filter(|_| object.members().count() == 1)
}

impl<'d> Span<'d> {
    /// Sets the messages of both sides, and counts non-empty sides without any. A span with messages is a model
    /// call, unless it is an agent.
    pub fn set_sides(&mut self, is_agent: bool, sides: Sides<'d>, is_empty: impl Fn(Side) -> bool) {
        let unreadable = |side: &Side| sides[*side as usize].is_none() && !is_empty(*side);
        self.unreadable = Side::BOTH.iter().filter(|side| unreadable(side)).count() as u64;
        self.sides = sides;
        if is_agent {
            self.kind = SpanKind::Agent;
        } else if self.has_messages() {
            self.kind = SpanKind::Model;
        }
    }

    pub fn has_messages(&self) -> bool {
        self.sides.iter().any(Option::is_some)
    }

    /// Returns how much a model call records; `None` for other spans.
    pub fn quality(&self) -> Option<u8> {
        let [input, output] = &self.sides;
        let quality = u8::from(input.is_some()) + u8::from(output.is_some() && !self.is_plain);
        matches!(self.kind, SpanKind::Model).then_some(quality)
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
    pub all: Vec<Recorded>,
    places: Ids,
    pub size: usize,
}

impl Spans {
    pub fn push(&mut self, span: Recorded, out: &mut Sink) {
        let next = self.all.len() as u32;
        if self.places.get_or_insert(span.id.as_deref(), || next) != next {
            return out.skip("repeated");
        }
        self.size += span.size();
        // Most traces of a server have one.
        self.all.reserve_exact(usize::from(self.all.is_empty()));
        self.all.push(Recorded { line: span.line.max(out.line), ..span });
    }

    pub fn get(&mut self, id: &str) -> Option<&mut Recorded> {
        self.all.get_mut(self.places.get(id)? as usize)
    }
}
