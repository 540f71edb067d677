//! The attributes and events of spans: the GenAI conventions of OpenTelemetry, OpenInference, OpenLLMetry
//! (Traceloop), the AI SDK, and Google's ADK.

use std::{collections::BTreeMap, mem};

use crate::{
    facts::Tokens,
    json::{Document, Full, Index, Members, Value},
    messages::{self, CONTENTS, Message, Messages, Side, Sides, messages_of},
    spans::{Recorded, Span, SpanKind, is_empty},
};

/// Attributes that tell kinds of spans apart.
const KINDS: [&str; 8] = [
    OPERATION, OPENINFERENCE, "traceloop.span.kind", "ai.operationId", "ai.toolCall.name",
    "error.type", "gen_ai.agent.name", "gen_ai.tool.status",
];
const OPERATION: &str = "gen_ai.operation.name";
const OPENINFERENCE: &str = "openinference.span.kind";

const TOOL_NAME: [&str; 4] =
    ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"];
const TOOL_ID: [&str; 3] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"];
const TOOL_INPUT: [&str; 9] = [
    "gen_ai.tool.call.arguments", "ai.toolCall.args", "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args", "tool_arguments", "input.value", "tool.parameters",
    "traceloop.entity.input", "input",
];
const TOOL_OUTPUT: [&str; 8] = [
    "gen_ai.tool.call.result", "ai.toolCall.result", "ai.toolCall.output",
    "gcp.vertex.agent.tool_response", "tool_response", "output.value", "traceloop.entity.output",
    "output",
];
const OBJECTIVE: [&str; 4] =
    ["gen_ai.input.messages", "input.value", "ai.prompt", "traceloop.entity.input"];

const MODEL: [&str; 2] = ["gen_ai.response.model", "gen_ai.request.model"];
const USAGE: [&str; 4] = [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
];

/// A place for the messages of a model call.
enum Place {
    /// In an attribute that holds JSON.
    Json(&'static str),
    /// In attributes `<prefix>N.<infix>…`, flattened.
    Flat(&'static str, &'static str),
    Events,
    /// In the attributes that the AI SDK gives to an answer.
    Answer,
}

/// The places for the input and for the output.
const PLACES: [&[Place]; 2] = [
    &[
        Place::Json("gen_ai.input.messages"),
        Place::Events,
        Place::Flat("llm.input_messages.", "message."),
        Place::Json("ai.prompt.messages"),
        Place::Json("ai.prompt"),
        Place::Flat("gen_ai.prompt.", ""),
        Place::Json("gen_ai.prompt"),
        Place::Json("gcp.vertex.agent.llm_request"),
        Place::Json("input.value"),
    ],
    &[
        Place::Json("gen_ai.output.messages"),
        Place::Events,
        Place::Flat("llm.output_messages.", "message."),
        Place::Answer,
        Place::Flat("gen_ai.completion.", ""),
        Place::Json("gen_ai.completion"),
        Place::Json("gcp.vertex.agent.llm_response"),
        Place::Json("output.value"),
    ],
];

const EVENTS: &str = "events";
const REASONING: &str = "ai.response.reasoning";
const ANSWER: [&str; 2] = ["ai.response.text", "ai.response.object"];
const TOOL_CALLS: &str = "ai.response.toolCalls";

impl Place {
    fn is_at(&self, name: &str) -> bool {
        match self {
            Self::Json(of_place) => *of_place == name,
            Self::Flat(prefix, _) => name.starts_with(prefix),
            Self::Events => name == EVENTS,
            Self::Answer => name == REASONING || name == TOOL_CALLS || ANSWER.contains(&name),
        }
    }
}

/// Returns whether an attribute is used. All others are dropped at once.
pub(super) fn is_kept(name: &str) -> bool {
    PLACES.into_iter().flatten().any(|place| place.is_at(name))
        || [&KINDS[..], &TOOL_NAME, &TOOL_ID, &TOOL_INPUT, &TOOL_OUTPUT, &OBJECTIVE, &MODEL, &USAGE]
            .iter()
            .any(|names| names.contains(&name))
}

/// Returns the messages of both sides that an event of a span (without `body`) or a log record has;
/// `None` if its name is unknown.
pub(super) fn event_messages(
    name: Option<&str>,
    attributes: Value,
    body: Option<Value>,
) -> Option<[Vec<Document<'static>>; 2]> {
    let recorded = |name, side| -> Vec<_> {
        let value = attributes.member(name).or_else(|| body?.member(name));
        let messages = value.and_then(|value| messages_of(value, side));
        messages.iter().flat_map(Messages::iter).filter_map(copied).collect()
    };
    let said = |role: &str, member: Option<&str>| -> Vec<_> {
        said(attributes, body, role, member).into_iter().collect()
    };
    Some(match name? {
        "gen_ai.client.inference.operation.details" => [
            recorded("gen_ai.input.messages", Side::Input),
            recorded("gen_ai.output.messages", Side::Output),
        ],
        "gen_ai.content.prompt" => [recorded("gen_ai.prompt", Side::Input), Vec::new()],
        "gen_ai.content.completion" => [Vec::new(), recorded("gen_ai.completion", Side::Output)],
        "gen_ai.choice" => [Vec::new(), said("assistant", Some("message"))],
        name => {
            let role = name.strip_prefix("gen_ai.")?.strip_suffix(".message")?;
            let is_known = ["system", "user", "assistant", "tool"].contains(&role);
            [is_known.then(|| said(role, None))?, Vec::new()]
        }
    })
}

/// A part of a message that is made of recorded values.
enum Made<'d> {
    Text(&'d str),
    Value(Value<'d>),
    List(Vec<Self>),
    Object(BTreeMap<&'d str, Self>),
}

impl Made<'_> {
    fn add(index: &mut Index, made: &Self) -> Result<(), Full> {
        match made {
            Self::Text(text) => index.push_string(text),
            Self::Value(value) => index.copy(*value),
            Self::List(elements) => index.array(elements, Self::add),
            Self::Object(members) => {
                index.object(members.iter().map(|(name, value)| (*name, value)), Self::add)
            }
        }
    }

    /// Returns what is made by itself; `None` if there is no memory for it.
    fn document(&self) -> Option<Document<'static>> {
        Document::build(|index| Self::add(index, self)).ok()
    }
}

/// Returns messages that are made; `None` if there are none.
fn made<'d>(messages: Vec<Made>) -> Option<Messages<'d>> {
    let is_any = !messages.is_empty();
    is_any.then(|| Made::List(messages).document())?.map(Messages::Made)
}

/// Returns a message of these members with a role in place of its own.
fn with_role<'d>(
    role: &'d str,
    members: impl IntoIterator<Item = (&'d str, Value<'d>)>,
) -> Option<Document<'static>> {
    let members = members.into_iter().map(|(name, value)| (name, Made::Value(value)));
    Made::Object(members.chain([("role", Made::Text(role))]).collect()).document()
}

fn copied(message: Message) -> Option<Document<'static>> {
    match message {
        Message::Whole(None, message) => Document::copy(message).ok(),
        Message::Whole(Some(role), message) => with_role(role, message.members()),
        Message::Content(side, content) => with_role(side.role(), [("content", content)]),
        Message::Calls(calls) => {
            let calls = Made::List(calls.map(Made::Value).collect());
            let role = Made::Text(Side::Output.role());
            Made::Object(BTreeMap::from([("role", role), ("tool_calls", calls)])).document()
        }
    }
}

/// Returns the message in an event, which is its payload or a member of that; `None` if there is none.
fn said<'d>(
    attributes: Value<'d>,
    body: Option<Value<'d>>,
    role: &'d str,
    member: Option<&str>,
) -> Option<Document<'static>> {
    let is_message = |value: Value| CONTENTS.iter().any(|name| value.has(name));
    let inside = |payload: Value<'d>| Some(payload.member(member?)?.decoded());
    let event = || attributes.member("gen_ai.event.content").map(Value::decoded);
    let payload = body.or_else(|| event().filter(|content| content.is_object()));
    let message = match payload {
        Some(payload) => Some(inside(payload).unwrap_or(payload)),
        None => inside(attributes),
    };
    match message {
        None if is_message(attributes) => {
            let decoded = |(name, value): (_, Value<'d>)| match name {
                "tool_calls" => (name, value.decoded()),
                // As Strands Agents records it.
                "content" => (name, content(value, messages::is_typed)),
                _ => (name, value),
            };
            let role = attributes.text("role").unwrap_or(role);
            with_role(role, attributes.members().map(decoded))
        }
        Some(message) if !message.is_object() => with_role(role, [("content", message)]),
        Some(message) if is_message(message) => match message.text("role") {
            Some(_) => Document::copy(message).ok(),
            None => with_role(role, message.members()),
        },
        _ => None,
    }
}

/// Returns whether a span may be a step or an agent. Those of a server have some attributes that are used, too.
pub(super) fn is_of_run(span: &Recorded) -> bool {
    let attributes = span.attributes.root();
    let has_messages = |(name, _)| {
        let mut places = PLACES.into_iter().flatten();
        places.any(|place| place.is_at(name)) && is_of_model(attributes, name)
    };
    span.events.iter().any(|messages| !messages.is_empty())
        || is_tool(attributes)
        || is_agent(attributes)
        || attributes.members().any(has_messages)
}

fn is(attributes: Value, name: &str, value: &str) -> bool {
    attributes.text(name) == Some(value)
}

fn is_tool(attributes: Value) -> bool {
    is(attributes, OPERATION, "execute_tool")
        || is(attributes, OPENINFERENCE, "TOOL")
        || is(attributes, "traceloop.span.kind", "tool")
        || is(attributes, "ai.operationId", "ai.toolCall")
        || attributes.member("ai.toolCall.name").is_some()
}

fn is_agent(attributes: Value) -> bool {
    is(attributes, OPERATION, "invoke_agent") || is(attributes, OPENINFERENCE, "AGENT")
}

/// Returns whether an attribute can have messages. OpenInference gives some to spans of all kinds.
fn is_of_model(attributes: Value, name: &str) -> bool {
    !["input.value", "output.value"].contains(&name) || is(attributes, OPENINFERENCE, "LLM")
}

/// Returns a span of the kind that follows from its attributes. All events must be known.
pub(super) fn interpret(recorded: &Recorded, keeps_given: bool) -> Span<'_> {
    let attributes = recorded.attributes.root();
    let mut span = recorded.span();
    let is_agent = is_agent(attributes);
    if attributes.member("error.type").is_some() || is(attributes, "gen_ai.tool.status", "error") {
        span.has_failed = true;
    }
    span.model = attributes.first_name(&MODEL);
    span.tokens = Tokens::of(Some(attributes), USAGE).map(Tokens::without_cache);
    let sides = Side::BOTH.map(|side| messages(attributes, &recorded.events[side as usize], side));
    if is_tool(attributes) {
        span.kind = tool(attributes, &sides, span.name);
    } else {
        span.set_sides(is_agent, sides, |side| {
            let places = PLACES[side as usize].iter();
            places.filter_map(|place| json_at(attributes, place)).all(is_empty)
        });
        if is_agent {
            let mut objective = OBJECTIVE.iter();
            span.objective = objective.find_map(|name| messages::human(attributes.member(name)?));
        }
    }
    span.name = attributes.name("gen_ai.agent.name").unwrap_or(span.name);
    span.given.extend(keeps_given.then_some(attributes));
    span
}

/// Returns the messages of a side, at the first place that has some.
fn messages<'d>(
    attributes: Value<'d>,
    events: &'d [Document<'static>],
    side: Side,
) -> Option<Messages<'d>> {
    PLACES[side as usize].iter().find_map(|place| match place {
        Place::Json(_) => messages_of(json_at(attributes, place)?, side),
        Place::Flat(prefix, infix) => flat_messages(attributes, prefix, infix, side),
        Place::Answer => answer(attributes),
        Place::Events => {
            let messages = events.iter().map(|event| Message::Whole(None, event.root()));
            let messages = (!events.is_empty()).then(|| Messages::Listed(messages.collect()));
            messages.or_else(|| events_in_attribute(attributes, side))
        }
    })
}

/// Returns the JSON at a place that has it in one attribute.
fn json_at<'d>(attributes: Value<'d>, place: &Place) -> Option<Value<'d>> {
    let Place::Json(name) = place else { return None };
    attributes.member(name).filter(|_| is_of_model(attributes, name))
}

fn tool(attributes: Value, [input, output]: &Sides, name: &str) -> SpanKind {
    let name = attributes
        .first_name(&TOOL_NAME)
        .unwrap_or_else(|| name.strip_prefix("execute_tool ").unwrap_or(name));
    let said = || said_of_tool(output.as_ref()?, "assistant", "tool_call_response", "response");
    let output = attributes.first(&TOOL_OUTPUT).or_else(said);
    let output = output.filter(|output| output.as_str() != Some("null"));
    let said = || said_of_tool(input.as_ref()?, "tool", "tool_call", "arguments");
    let input = attributes.first(&TOOL_INPUT).or_else(said);
    SpanKind::tool(name, attributes.first_name(&TOOL_ID), input, output)
}

/// Returns what the messages of a tool's span say in a part of this type, or as the content for this role.
fn said_of_tool<'m>(
    messages: &'m Messages,
    role: &str,
    kind: &str,
    member: &str,
) -> Option<Value<'m>> {
    messages.iter().find_map(|message| match message {
        Message::Whole(own, message) => {
            let part = messages::parts(message.member("parts")).find(|part| part.0 == kind);
            let is_said = own.or_else(|| message.text("role")) == Some(role);
            let content = || message.member("content").filter(|_| is_said);
            part.and_then(|(_, part)| part.member(member)).or_else(content)
        }
        Message::Content(side, content) => Some(content).filter(|_| side.role() == role),
        Message::Calls(_) => None,
    })
}

fn events_in_attribute<'d>(attributes: Value<'d>, side: Side) -> Option<Messages<'d>> {
    let events = attributes.member(EVENTS)?.decoded().as_array()?;
    let events = events.iter().filter(|event| event.is_object());
    let said = events.filter_map(|event| event_messages(event.text("event.name"), event, None));
    let messages = said.flat_map(|mut said| mem::take(&mut said[side as usize]));
    let messages: Vec<_> = messages.collect();
    made(messages.iter().map(|message| Made::Value(message.root())).collect())
}

fn answer(attributes: Value<'_>) -> Option<Messages<'_>> {
    if attributes.text("ai.operationId").is_some_and(|id| id.starts_with("ai.embed")) {
        return None;
    }
    let calls = attributes.member(TOOL_CALLS).and_then(|calls| calls.decoded().as_array());
    let calls = calls.into_iter().flatten().filter(|call| call.is_object());
    let calls: Vec<_> = calls.map(Made::Value).collect();
    let parts = [
        ("role", Some(Made::Text("assistant"))),
        ("reasoning", attributes.name(REASONING).map(Made::Text)),
        ("content", attributes.first_name(&ANSWER).map(Made::Text)),
        ("tool_calls", (!calls.is_empty()).then_some(Made::List(calls))),
    ];
    let parts = parts.into_iter().filter_map(|(name, part)| Some((name, part?)));
    let message: BTreeMap<_, _> = parts.collect();
    if message.len() > 1 { made(vec![Made::Object(message)]) } else { None }
}

fn flat_messages<'d>(
    attributes: Value<'d>,
    prefix: &str,
    infix: &str,
    side: Side,
) -> Option<Messages<'d>> {
    let mut messages: BTreeMap<u64, Vec<(&str, Value)>> = BTreeMap::new();
    for (name, value) in attributes.members() {
        if let Some((index, field)) = numbered(name, prefix)
            && let Some(field) = field.strip_prefix(infix)
        {
            messages.entry(index).or_default().push((field, value));
        }
    }
    let messages = messages.into_values().filter_map(|fields| unflattened(fields, side.role()));
    made(messages.collect())
}

fn numbered<'a>(name: &'a str, prefix: &str) -> Option<(u64, &'a str)> {
    let (index, field) = name.strip_prefix(prefix)?.split_once('.')?;
    Some((index.parse().ok()?, field))
}

/// Returns the message of some fields; `None` if they have neither content nor calls.
fn unflattened<'d>(fields: Vec<(&'d str, Value<'d>)>, role: &'d str) -> Option<Made<'d>> {
    let mut message = BTreeMap::from([("role", Made::Text(role))]);
    let mut parts: BTreeMap<u64, BTreeMap<_, _>> = BTreeMap::new();
    let mut calls: BTreeMap<u64, BTreeMap<_, _>> = BTreeMap::new();
    for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
        let (part, call) = (numbered(field, "contents."), numbered(field, "tool_calls."));
        let (object, name) = match (field, part, call) {
            ("role" | "name" | "tool_call_id" | "content", ..) => (&mut message, field),
            ("function_call_name", ..) => (calls.entry(0).or_default(), "name"),
            ("function_call_arguments_json", ..) => (calls.entry(0).or_default(), "arguments"),
            (_, Some((index, field)), _) => {
                let name = field.strip_prefix("message_content.").unwrap_or(field);
                (parts.entry(index).or_default(), name)
            }
            (.., Some((index, field))) => {
                let name = field.strip_prefix("tool_call.").unwrap_or(field);
                let name = name.strip_prefix("function.").unwrap_or(name);
                (calls.entry(index).or_default(), name)
            }
            _ => continue,
        };
        let is_part = |part: Value| part.text("type").is_some();
        let value = if field == "content" { content(value, is_part) } else { value };
        object.insert(name, Made::Value(value));
    }
    let lists = [("content", parts), ("tool_calls", calls)];
    for (name, objects) in lists.into_iter().filter(|(_, objects)| !objects.is_empty()) {
        message.insert(name, Made::List(objects.into_values().map(Made::Object).collect()));
    }
    let says = message.contains_key("content") || message.contains_key("tool_calls");
    says.then_some(Made::Object(message))
}

/// Returns the content of a message: its parts, if it is their JSON.
fn content(value: Value, is_part: impl Fn(Value) -> bool) -> Value {
    let decoded = value.decoded();
    let parts = decoded.as_array().filter(|parts| !parts.is_empty());
    if parts.is_some_and(|mut parts| parts.all(is_part)) { decoded } else { value }
}
