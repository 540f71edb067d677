//! The attributes and events of spans: the GenAI conventions of OpenTelemetry, OpenInference, OpenLLMetry
//! (Traceloop), the AI SDK, and Google's ADK.

use std::sync::LazyLock;

use crate::{
    facts::Tokens,
    json::{Document, Index, Members, Value},
    messages::{self, CONTENTS, Message, Messages, Side, Sides, messages_of},
    spans::{Recorded, Said, Span, SpanKind, is_empty},
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

/// The places for the messages of the input and of the output. Those that end with a dot are of several attributes.
const PLACES: [&[&str]; 2] = [
    &[
        "gen_ai.input.messages", EVENTS, "llm.input_messages.", "ai.prompt.messages", "ai.prompt",
        "gen_ai.prompt.", "gen_ai.prompt", "gcp.vertex.agent.llm_request", "input.value",
    ],
    &[
        "gen_ai.output.messages", EVENTS, "llm.output_messages.", ANSWER, "gen_ai.completion.",
        "gen_ai.completion", "gcp.vertex.agent.llm_response", "output.value",
    ],
];

/// The place of messages in events.
const EVENTS: &str = "events.";

/// The place of the answer in the attributes that the AI SDK gives it.
const ANSWER: &str = "ai.response.";
const REASONING: [&str; 1] = ["ai.response.reasoning"];
const TEXT: [&str; 2] = ["ai.response.text", "ai.response.object"];
const TOOL_CALLS: &str = "ai.response.toolCalls";

/// Returns whether an attribute is used. All others are dropped at once.
pub(super) fn is_kept(name: &str) -> bool {
    static KEPT: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let [input, output] = PLACES;
        let lists: [&[&str]; 13] = [
            &KINDS,
            &TOOL_NAME,
            &TOOL_ID,
            &TOOL_INPUT,
            &TOOL_OUTPUT,
            &OBJECTIVE,
            &MODEL,
            &USAGE,
            &REASONING,
            &TEXT,
            &[TOOL_CALLS],
            input,
            output,
        ];
        let mut names = lists.concat();
        names.sort_unstable();
        names
    });
    KEPT.binary_search(&name).is_ok() || place(name).is_some()
}

/// Returns the place of flattened messages that an attribute belongs to, and the rest of its name.
pub(super) fn place(name: &str) -> Option<(&'static str, &str)> {
    static FLAT: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let places = PLACES.into_iter().flatten().filter(|place| place.ends_with('.'));
        places.copied().collect()
    });
    let (place, rest) = FLAT.iter().find_map(|place| Some((*place, name.strip_prefix(place)?)))?;
    rest.starts_with(|first: char| first.is_ascii_digit()).then_some((place, rest))
}

fn has_messages(name: &str) -> bool {
    let is_of_answer = || REASONING.contains(&name) || TEXT.contains(&name) || name == TOOL_CALLS;
    PLACES.into_iter().flatten().any(|place| *place == name) || is_of_answer()
}

/// What events have on a side.
enum Has {
    /// Messages in an attribute, as those of a span.
    Messages(&'static str),
    /// One message, which has this role if it has none of its own.
    Message(&'static str),
}

/// The events with messages.
const NAMES: [(&str, Side, Has); 9] = [
    ("gen_ai.client.inference.operation.details", Side::Input, Has::Messages(PLACES[0][0])),
    ("gen_ai.client.inference.operation.details", Side::Output, Has::Messages(PLACES[1][0])),
    ("gen_ai.content.prompt", Side::Input, Has::Messages("gen_ai.prompt")),
    ("gen_ai.content.completion", Side::Output, Has::Messages("gen_ai.completion")),
    ("gen_ai.choice", Side::Output, Has::Message("assistant")),
    ("gen_ai.system.message", Side::Input, Has::Message("system")),
    ("gen_ai.user.message", Side::Input, Has::Message("user")),
    ("gen_ai.assistant.message", Side::Input, Has::Message("assistant")),
    ("gen_ai.tool.message", Side::Input, Has::Message("tool")),
];

/// Returns what an event of a span (without `body`) or a log record says; `None` if its name is unknown.
pub(super) fn said(
    name: Option<&str>,
    attributes: Value,
    body: Option<Value>,
) -> Option<Vec<Said>> {
    let of_name = NAMES.iter().filter(|(known, ..)| Some(*known) == name);
    of_name.clone().next()?;
    let said = of_name.filter_map(|(_, side, has)| {
        let (role, value) = match has {
            Has::Messages(name) => {
                let value = attributes.member(name).or_else(|| body?.member(name))?.decoded();
                messages_of(value, *side)?;
                (None, Document::copy(value).ok()?)
            }
            Has::Message(role) => (Some(*role), message(attributes, body, *side)?),
        };
        Some(Said { side: *side, role, value })
    });
    Some(said.collect())
}

/// Returns the message in an event, which is its payload or a member of that; `None` if there is none.
fn message<'d>(
    attributes: Value<'d>,
    body: Option<Value<'d>>,
    side: Side,
) -> Option<Document<'static>> {
    let event = || attributes.member("gen_ai.event.content").map(Value::decoded);
    let payload = body.or_else(|| event().filter(|content| content.is_object()));
    let inside = payload.unwrap_or(attributes).member("message").map(Value::decoded);
    let message = inside.filter(|_| side == Side::Output).or(payload);
    let member = |(name, value)| match name {
        // As Strands Agents records it.
        "content" if message.is_none() => (name, content(value, messages::is_typed)),
        _ => (name, value),
    };
    let built = match message.unwrap_or(attributes) {
        text if !text.is_object() => {
            Document::build(|index| index.object([("content", text)], Index::copy))
        }
        message if CONTENTS.iter().any(|name| message.has(name)) => {
            Document::build(|index| index.object(message.members().map(member), Index::copy))
        }
        _ => return None,
    };
    built.ok()
}

/// Returns whether a span may be a step or an agent. Those of a server have some attributes that are used, too.
pub(super) fn is_of_run(span: &Recorded) -> bool {
    let attributes = span.attributes.root();
    let has_messages = |(name, _)| has_messages(name) && is_of_model(attributes, name);
    !span.events.is_empty()
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
    let sides = Side::BOTH.map(|side| messages(recorded, side));
    if is_tool(attributes) {
        span.kind = tool(attributes, &sides, span.name);
    } else {
        span.set_sides(is_agent, sides, |side| {
            let places = PLACES[side as usize].iter().filter(|place| !place.ends_with('.'));
            places.filter_map(|place| json_at(attributes, place)).all(is_empty)
        });
        if is_agent {
            span.asked.extend(OBJECTIVE.iter().filter_map(|name| attributes.member(name)));
        }
    }
    span.name = attributes.name("gen_ai.agent.name").unwrap_or(span.name);
    span.given.extend(keeps_given.then_some(attributes));
    span
}

/// Returns the messages of a side, at the first place that has some.
fn messages(recorded: &Recorded, side: Side) -> Option<Messages<'_>> {
    let attributes = recorded.attributes.root();
    PLACES[side as usize].iter().find_map(|place| match *place {
        EVENTS => {
            let said = recorded.events.iter().filter(|said| said.side == side);
            Messages::listed(said.flat_map(Said::messages))
        }
        ANSWER => answer(attributes),
        flat if flat.ends_with('.') => {
            let says = |message: &Value| message.first(&["content", "tool_calls"]).is_some();
            let messages = attributes.elements(flat).filter(says);
            Messages::listed(messages.map(|message| Message::or_as(side.role(), message)))
        }
        name => messages_of(json_at(attributes, name)?, side),
    })
}

/// Returns the JSON at a place that has it in one attribute.
fn json_at<'d>(attributes: Value<'d>, place: &str) -> Option<Value<'d>> {
    attributes.member(place).filter(|_| is_of_model(attributes, place))
}

fn tool<'d>(attributes: Value<'d>, [input, output]: &Sides<'d>, name: &str) -> SpanKind<'d> {
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
fn said_of_tool<'d>(
    messages: &Messages<'d>,
    role: &str,
    kind: &str,
    member: &str,
) -> Option<Value<'d>> {
    messages.iter().find_map(|message| match message {
        Message::Whole(own, message) => {
            let part = messages::parts(message.member("parts")).find(|part| part.0 == kind);
            let is_said = own.or_else(|| message.text("role")) == Some(role);
            let content = || message.member("content").filter(|_| is_said);
            part.and_then(|(_, part)| part.member(member)).or_else(content)
        }
        Message::Content(side, content) => Some(content).filter(|_| side.role() == role),
        Message::Reasoning(_) | Message::Calls(_) => None,
    })
}

fn answer(attributes: Value<'_>) -> Option<Messages<'_>> {
    if attributes.text("ai.operationId").is_some_and(|id| id.starts_with("ai.embed")) {
        return None;
    }
    let text = |names: &[&str]| {
        let mut names = names.iter().filter(|name| attributes.name(name).is_some());
        attributes.get(names.next()?)
    };
    let calls = attributes.member(TOOL_CALLS).and_then(|calls| calls.decoded().as_array());
    let calls = calls.into_iter().flatten().filter(|call| call.is_object());
    let reasoning = text(&REASONING).map(Message::Reasoning);
    let content = text(&TEXT).map(|text| Message::Content(Side::Output, text));
    let calls = calls.map(|call| Message::Calls(call.alone()));
    Messages::listed(reasoning.into_iter().chain(content).chain(calls))
}

/// Returns the content of a message: its parts, if it is their JSON.
pub(super) fn content(value: Value, is_part: impl Fn(Value) -> bool) -> Value {
    let decoded = value.decoded();
    let parts = decoded.as_array().filter(|parts| !parts.is_empty());
    if parts.is_some_and(|mut parts| parts.all(is_part)) { decoded } else { value }
}
