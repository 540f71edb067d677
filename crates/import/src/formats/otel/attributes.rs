//! The attributes and events of spans: the GenAI conventions of OpenTelemetry, OpenInference, OpenLLMetry
//! (Traceloop), the AI SDK, and Google's ADK.

use std::sync::LazyLock;

use crate::{
    messages::CONTENTS,
    prelude::*,
    spans::{self, Recorded, Said, Span, SpanKind, is_empty},
};

/// Attributes that tell kinds of spans apart.
const KINDS: [&str; 10] = [
    OPERATION, OPENINFERENCE, LANGFUSE, "traceloop.span.kind", "ai.operationId",
    "ai.toolCall.name", "error.type", "gen_ai.agent.name", "gen_ai.tool.status",
    "llm.request.type",
];
const OPERATION: &str = "gen_ai.operation.name";
const OPENINFERENCE: &str = "openinference.span.kind";
const LANGFUSE: &str = "langfuse.observation.type";

/// The attributes and values that say that a span is a tool.
const TOOLS: [(&str, &str); 5] = [
    (OPERATION, "execute_tool"),
    (OPENINFERENCE, "TOOL"),
    (LANGFUSE, "tool"),
    ("traceloop.span.kind", "tool"),
    ("ai.operationId", "ai.toolCall"),
];
const AGENTS: [(&str, &str); 3] =
    [(OPERATION, "invoke_agent"), (OPENINFERENCE, "AGENT"), (LANGFUSE, "agent")];
/// Those of the embedding of texts, which are no messages.
const EMBEDDINGS: [(&str, &str); 8] = [
    (OPERATION, "embeddings"),
    (OPENINFERENCE, "EMBEDDING"),
    (LANGFUSE, "embedding"),
    ("llm.request.type", "embedding"),
    ("ai.operationId", "ai.embed"),
    ("ai.operationId", "ai.embed.doEmbed"),
    ("ai.operationId", "ai.embedMany"),
    ("ai.operationId", "ai.embedMany.doEmbed"),
];

/// The tool of a span that ADK adds to those of parallel calls.
const MERGED: &str = "(merged tools)";

const TOOL_NAME: [&str; 4] =
    ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"];
const TOOL_ID: [&str; 4] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"];
const TOOL_INPUT: [&str; 10] = [
    "gen_ai.tool.call.arguments", "ai.toolCall.args", "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args", "tool_arguments", "input.value", "tool.parameters",
    "traceloop.entity.input", "langfuse.observation.input", "input",
];
const TOOL_OUTPUT: [&str; 9] = [
    "gen_ai.tool.call.result", "ai.toolCall.result", "ai.toolCall.output",
    "gcp.vertex.agent.tool_response", "tool_response", "output.value", "traceloop.entity.output",
    "langfuse.observation.output", "output",
];
const OBJECTIVE: [&str; 5] = [
    "gen_ai.input.messages", "input.value", "ai.prompt", "traceloop.entity.input",
    "langfuse.observation.input",
];

const MODEL: [&str; 4] = [
    "gen_ai.response.model", "gen_ai.request.model", "llm.model_name",
    "langfuse.observation.model.name",
];
/// The names of each count of tokens: by today's conventions, of OpenLLMetry before, and of OpenInference.
const USAGE: [[&str; 3]; 4] = [
    ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"],
    ["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"],
    [
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ],
    [
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ],
];
const USAGE_DETAILS: &str = "langfuse.observation.usage_details";

/// The places for the messages of the input and of the output. Those that end with a dot are of several attributes.
const PLACES: [&[&str]; 2] = [
    &[
        "gen_ai.input.messages", EVENTS, "llm.input_messages.", "ai.prompt.messages", "ai.prompt",
        "gen_ai.prompt.", "gen_ai.prompt", "gcp.vertex.agent.llm_request", "input.value",
        "langfuse.observation.input",
    ],
    &[
        "gen_ai.output.messages", EVENTS, "llm.output_messages.", ANSWER, "gen_ai.completion.",
        "gen_ai.completion", "gcp.vertex.agent.llm_response", "output.value",
        "langfuse.observation.output",
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
            USAGE.as_flattened(),
            &REASONING,
            &TEXT,
            &[TOOL_CALLS, USAGE_DETAILS],
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
        || (!is_any(attributes, &EMBEDDINGS) && attributes.members().any(has_messages))
}

/// Returns whether attributes have one of these values.
fn is_any(attributes: Value, values: &[(&str, &str)]) -> bool {
    values.iter().any(|(name, value)| attributes.text(name) == Some(value))
}

fn is_tool(attributes: Value) -> bool {
    (is_any(attributes, &TOOLS) || attributes.member("ai.toolCall.name").is_some())
        && attributes.text(TOOL_NAME[0]) != Some(MERGED)
}

fn is_agent(attributes: Value) -> bool {
    is_any(attributes, &AGENTS)
}

/// Returns whether an attribute can have messages. OpenInference and Langfuse give some to spans of all kinds.
fn is_of_model(attributes: Value, name: &str) -> bool {
    match name {
        "input.value" | "output.value" => is_any(attributes, &[(OPENINFERENCE, "LLM")]),
        "langfuse.observation.input" | "langfuse.observation.output" => {
            is_any(attributes, &[(LANGFUSE, "generation")])
        }
        _ => true,
    }
}

/// Returns a span of the kind that follows from its attributes. All events must be known.
pub(super) fn interpret(recorded: &Recorded, keeps_given: bool) -> Span<'_> {
    let attributes = recorded.attributes.root();
    let mut span = recorded.span();
    let is_agent = is_agent(attributes);
    if attributes.member("error.type").is_some()
        || is_any(attributes, &[("gen_ai.tool.status", "error")])
    {
        span.has_failed = true;
    }
    span.model = attributes.first_name(&MODEL);
    let usage = USAGE.map(|names| names.into_iter().find(|name| attributes.has(name)));
    let tokens = Tokens::of(Some(attributes), usage.map(Option::unwrap_or_default));
    let details = || spans::tokens(attributes.member(USAGE_DETAILS).map(Value::decoded));
    span.tokens = tokens.map(Tokens::without_cache).or_else(details);
    let sides = Side::BOTH.map(|side| messages(recorded, side));
    if is_tool(attributes) {
        span.kind = tool(attributes, &sides, span.name);
    } else if !is_any(attributes, &EMBEDDINGS) {
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
            let part = parts(message.member("parts")).find(|part| part.0 == kind);
            let is_said = own.or_else(|| message.text("role")) == Some(role);
            let content = || message.member("content").filter(|_| is_said);
            part.and_then(|(_, part)| part.member(member)).or_else(content)
        }
        Message::Content(side, content) => Some(content).filter(|_| side.role() == role),
        Message::Reasoning(_) | Message::Calls(_) => None,
    })
}

fn answer(attributes: Value<'_>) -> Option<Messages<'_>> {
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
