//! What the attributes and events of spans mean: the GenAI conventions of OpenTelemetry, OpenInference,
//! OpenLLMetry (Traceloop), the AI SDK, and Google's ADK.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    event::size_of_value,
    json::{self, Members, Object},
    messages::{self, Side},
    spans::{Kind, Sides, Span, Tool, is_empty},
};

/// Attributes that say what a span stands for.
const KINDS: [&str; 7] = [
    OPERATION,
    OPENINFERENCE,
    "traceloop.span.kind",
    "ai.operationId",
    "ai.toolCall.name",
    "error.type",
    "gen_ai.agent.name",
];
const OPERATION: &str = "gen_ai.operation.name";
const OPENINFERENCE: &str = "openinference.span.kind";

const TOOL_NAME: [&str; 4] =
    ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"];
const TOOL_ID: [&str; 3] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"];
const TOOL_INPUT: [&str; 9] = [
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "input.value",
    "tool.parameters",
    "traceloop.entity.input",
    "input",
];
const TOOL_OUTPUT: [&str; 8] = [
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "output",
];
const OBJECTIVE: [&str; 4] =
    ["gen_ai.input.messages", "input.value", "ai.prompt", "traceloop.entity.input"];

/// Where messages of a model call can stand.
enum Place {
    /// In an attribute that holds JSON.
    Json(&'static str),
    /// In such an attribute, if OpenInference calls the span a model call.
    JsonOfModel(&'static str),
    /// In attributes `<prefix>N.<infix>…`, flattened.
    Flat(&'static str, &'static str),
    /// In events of the span.
    Events,
    /// In the attributes that the AI SDK gives to an answer.
    Answer,
}

const INPUT: [Place; 9] = [
    Place::Json("gen_ai.input.messages"),
    Place::Events,
    Place::Flat("llm.input_messages.", "message."),
    Place::Json("ai.prompt.messages"),
    Place::Json("ai.prompt"),
    Place::Flat("gen_ai.prompt.", ""),
    Place::Json("gen_ai.prompt"),
    Place::Json("gcp.vertex.agent.llm_request"),
    Place::JsonOfModel("input.value"),
];
const OUTPUT: [Place; 8] = [
    Place::Json("gen_ai.output.messages"),
    Place::Events,
    Place::Flat("llm.output_messages.", "message."),
    Place::Answer,
    Place::Flat("gen_ai.completion.", ""),
    Place::Json("gen_ai.completion"),
    Place::Json("gcp.vertex.agent.llm_response"),
    Place::JsonOfModel("output.value"),
];

const EVENTS: &str = "events";
const REASONING: &str = "ai.response.reasoning";
const ANSWER: [&str; 2] = ["ai.response.text", "ai.response.object"];
const TOOL_CALLS: &str = "ai.response.toolCalls";

/// Returns whether an attribute means anything here. All others are dropped at once.
pub(super) fn is_kept(name: &str) -> bool {
    let is_place = |place: &Place| match place {
        Place::Json(of_place) | Place::JsonOfModel(of_place) => *of_place == name,
        Place::Flat(prefix, _) => name.starts_with(prefix),
        Place::Events => name == EVENTS,
        Place::Answer => name == REASONING || name == TOOL_CALLS || ANSWER.contains(&name),
    };
    INPUT.iter().chain(&OUTPUT).any(is_place)
        || [&KINDS[..], &TOOL_NAME, &TOOL_ID, &TOOL_INPUT, &TOOL_OUTPUT, &OBJECTIVE]
            .iter()
            .any(|names| names.contains(&name))
}

/// A span as it was recorded.
#[derive(Default)]
pub(super) struct Recorded {
    /// The line of its value.
    pub line: u64,
    /// The span; what it stands for is not known before [`Recorded::interpret`].
    pub span: Span,
    /// The attributes that mean something here.
    pub attributes: Object,
    /// The messages in its events.
    pub events: Sides,
}

/// Reads an event of a span (without `body`) or a log record. `None` if its name means nothing here.
pub(super) fn messages_of_event(
    name: Option<&str>,
    attributes: &Object,
    body: Option<&Value>,
) -> Option<Sides> {
    let recorded = |name, side| {
        let value = attributes.member(name).or_else(|| body?.member(name));
        value.and_then(|value| messages::of(value, side)).unwrap_or_default()
    };
    let said = |role: &str, member: Option<&str>| {
        let payload = payload(attributes, body);
        let mut message = match member.and_then(|name| payload.member(name)).unwrap_or(&payload) {
            Value::Object(message) => message.clone(),
            content => [("content".to_owned(), content.clone())].into_iter().collect(),
        };
        if message.text("role").is_none() {
            message.insert("role".into(), role.into());
        }
        Vec::from_iter(Some(Value::Object(message)).filter(messages::is_message))
    };
    let mut sides = Sides::default();
    match name? {
        "gen_ai.client.inference.operation.details" => {
            sides.input = recorded("gen_ai.input.messages", Side::Input);
            sides.output = recorded("gen_ai.output.messages", Side::Output);
        }
        "gen_ai.content.prompt" => sides.input = recorded("gen_ai.prompt", Side::Input),
        "gen_ai.content.completion" => sides.output = recorded("gen_ai.completion", Side::Output),
        "gen_ai.choice" => sides.output = said("assistant", Some("message")),
        name => {
            let role = name.strip_prefix("gen_ai.")?.strip_suffix(".message")?;
            if !["system", "user", "assistant", "tool"].contains(&role) {
                return None;
            }
            sides.input = said(role, None);
        }
    }
    Some(sides)
}

/// Returns what an event says.
fn payload(attributes: &Object, body: Option<&Value>) -> Value {
    if let Some(body) = body {
        return body.clone();
    }
    let content = attributes.member("gen_ai.event.content").map(json::decoded);
    if let Some(content) = content.filter(|content| content.is_object()) {
        return content.into_owned();
    }
    let mut payload = attributes.clone();
    for name in ["message", "tool_calls"] {
        if let Some(value) = payload.get_mut(name) {
            *value = json::decoded(value).into_owned();
        }
    }
    Value::Object(payload)
}

/// Returns about how many bytes messages have.
pub(super) fn size_of_messages(sides: &Sides) -> usize {
    sides.input.iter().chain(&sides.output).map(size_of_value).sum()
}

impl Recorded {
    /// Adds the messages of an event.
    pub fn add(&mut self, mut event: Sides) {
        self.events.input.append(&mut event.input);
        self.events.output.append(&mut event.output);
    }

    /// Returns about how many bytes its texts have.
    pub fn size(&self) -> usize {
        let names: usize = self.attributes.keys().map(String::len).sum();
        let values: usize = self.attributes.values().map(size_of_value).sum();
        size_of::<Self>() + names + values + size_of_messages(&self.events)
    }

    /// Finds out what the span stands for.
    pub fn interpret(&mut self) {
        let is = |name, value| self.attributes.text(name) == Some(value);
        let is_tool = is(OPERATION, "execute_tool")
            || is(OPENINFERENCE, "TOOL")
            || is("traceloop.span.kind", "tool")
            || is("ai.operationId", "ai.toolCall")
            || self.attributes.member("ai.toolCall.name").is_some();
        let is_agent = is(OPERATION, "invoke_agent") || is(OPENINFERENCE, "AGENT");
        if self.attributes.member("error.type").is_some() {
            self.span.status = Some(false);
        }
        if is_tool {
            self.span.kind = Kind::Tool(tool(&self.attributes, &self.span.name));
        } else {
            self.span.has_input = self.messages(Side::Input).is_some();
            self.span.has_output = self.messages(Side::Output).is_some();
            self.span.unreadable = u64::from(!self.span.has_input && self.has_json(&INPUT))
                + u64::from(!self.span.has_output && self.has_json(&OUTPUT));
            if is_agent {
                self.span.kind = Kind::Agent;
            } else if self.span.has_messages() {
                self.span.kind = Kind::Model;
            }
        }
    }

    /// Returns the messages of both sides.
    pub fn sides(&self) -> Sides {
        let [input, output] = [Side::Input, Side::Output].map(|side| self.messages(side));
        Sides { input: input.unwrap_or_default(), output: output.unwrap_or_default() }
    }

    /// Returns the messages of a side, at the first place that has some.
    fn messages(&self, side: Side) -> Option<Vec<Value>> {
        let (places, events) = match side {
            Side::Input => (&INPUT[..], &self.events.input),
            Side::Output => (&OUTPUT[..], &self.events.output),
        };
        places.iter().find_map(|place| match place {
            Place::Json(_) | Place::JsonOfModel(_) => messages::of(self.json_at(place)?, side),
            Place::Flat(prefix, infix) => flattened(&self.attributes, prefix, infix, side),
            Place::Answer => answer(&self.attributes),
            Place::Events if events.is_empty() => events_in_attribute(&self.attributes, side),
            Place::Events => Some(events.clone()),
        })
    }

    /// Returns the JSON at a place that has it in one attribute.
    fn json_at(&self, place: &Place) -> Option<&Value> {
        match place {
            Place::Json(name) => self.attributes.member(name),
            Place::JsonOfModel(name) if self.attributes.text(OPENINFERENCE) == Some("LLM") => {
                self.attributes.member(name)
            }
            Place::JsonOfModel(_) | Place::Flat(..) | Place::Events | Place::Answer => None,
        }
    }

    fn has_json(&self, places: &[Place]) -> bool {
        let mut values = places.iter().filter_map(|place| self.json_at(place));
        values.any(|value| !is_empty(value))
    }

    /// Returns what a person asked of the agent.
    pub fn objective(&self) -> Option<String> {
        OBJECTIVE.iter().find_map(|name| messages::human(self.attributes.member(name)?))
    }

    /// Returns the name of the agent, or else of the span.
    pub fn title(&self) -> Option<String> {
        let name = self.attributes.name("gen_ai.agent.name").unwrap_or(&self.span.name);
        (!json::is_blank(name)).then(|| name.to_owned())
    }
}

fn tool(attributes: &Object, name: &str) -> Tool {
    let name = attributes
        .first_name(&TOOL_NAME)
        .unwrap_or_else(|| name.strip_prefix("execute_tool ").unwrap_or(name));
    let output = attributes.first(&TOOL_OUTPUT).filter(|output| output.as_str() != Some("null"));
    Tool {
        name: name.to_owned(),
        id: attributes.first_name(&TOOL_ID).map(Into::into),
        input: attributes.first(&TOOL_INPUT).cloned(),
        output: output.cloned(),
    }
}

/// Returns the messages of a side in the attribute that stands for events.
fn events_in_attribute(attributes: &Object, side: Side) -> Option<Vec<Value>> {
    let events = json::decoded(attributes.member(EVENTS)?);
    let events = events.as_array()?.iter().filter_map(Value::as_object);
    let sides = events.filter_map(|event| messages_of_event(event.text("event.name"), event, None));
    let messages: Vec<_> = match side {
        Side::Input => sides.flat_map(|sides| sides.input).collect(),
        Side::Output => sides.flat_map(|sides| sides.output).collect(),
    };
    (!messages.is_empty()).then_some(messages)
}

/// Returns the answer that the AI SDK recorded.
fn answer(attributes: &Object) -> Option<Vec<Value>> {
    if attributes.text("ai.operationId").is_some_and(|id| id.starts_with("ai.embed")) {
        return None;
    }
    let texts =
        [("reasoning", attributes.name(REASONING)), ("text", attributes.first_name(&ANSWER))];
    let texts = texts.into_iter().filter_map(|(kind, text)| Some((kind, text?)));
    let mut parts: Vec<_> =
        texts.map(|(kind, text)| json!({ "type": kind, "text": text })).collect();
    let calls = attributes.member(TOOL_CALLS).map(json::decoded);
    for call in calls.iter().filter_map(|calls| calls.as_array()).flatten() {
        let Value::Object(mut call) = call.clone() else { continue };
        call.insert("type".into(), "tool-call".into());
        parts.push(Value::Object(call));
    }
    (!parts.is_empty()).then(|| vec![json!({ "role": "assistant", "content": parts })])
}

/// Returns the messages that stand in attributes `<prefix>N.<infix>…`.
fn flattened(attributes: &Object, prefix: &str, infix: &str, side: Side) -> Option<Vec<Value>> {
    let mut messages: BTreeMap<u64, Vec<(&str, &Value)>> = BTreeMap::new();
    for (name, value) in attributes {
        if let Some((index, field)) = numbered(name, prefix)
            && let Some(field) = field.strip_prefix(infix)
        {
            messages.entry(index).or_default().push((field, value));
        }
    }
    let messages = messages.into_values().filter_map(|fields| unflattened(fields, side.role()));
    let messages: Vec<_> = messages.collect();
    (!messages.is_empty()).then_some(messages)
}

fn numbered<'a>(name: &'a str, prefix: &str) -> Option<(u64, &'a str)> {
    let (index, field) = name.strip_prefix(prefix)?.split_once('.')?;
    Some((index.parse().ok()?, field))
}

/// Returns the message of some fields; `None` if they have neither content nor calls.
fn unflattened(fields: Vec<(&str, &Value)>, role: &str) -> Option<Value> {
    let mut message = Object::new();
    message.insert("role".into(), role.into());
    let mut parts: BTreeMap<u64, Object> = BTreeMap::new();
    let mut calls: BTreeMap<u64, Object> = BTreeMap::new();
    let mut function = Object::new();
    for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
        let set = |object: &mut Object, name: &str| object.insert(name.into(), value.clone());
        match field {
            "role" | "name" | "tool_call_id" => {
                set(&mut message, field);
            }
            "content" => {
                message.insert("content".into(), content(value));
            }
            "function_call_name" => {
                set(&mut function, "name");
            }
            "function_call_arguments_json" => {
                set(&mut function, "arguments");
            }
            _ => {
                if let Some((index, field)) = numbered(field, "contents.") {
                    let field = field.strip_prefix("message_content.").unwrap_or(field);
                    set(parts.entry(index).or_default(), field);
                } else if let Some((index, field)) = numbered(field, "tool_calls.") {
                    let field = field.strip_prefix("tool_call.").unwrap_or(field);
                    let field = field.strip_prefix("function.").unwrap_or(field);
                    set(calls.entry(index).or_default(), field);
                }
            }
        }
    }
    let list = |objects: BTreeMap<u64, Object>| -> Value {
        objects.into_values().map(Value::Object).collect()
    };
    if !parts.is_empty() {
        message.insert("content".into(), list(parts));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), list(calls));
    }
    if !function.is_empty() {
        message.insert("function_call".into(), function.into());
    }
    let says = ["content", "tool_calls", "function_call"];
    says.iter().any(|name| message.contains_key(*name)).then_some(Value::Object(message))
}

/// Returns the content of a flattened message: its parts, if it is their JSON.
fn content(value: &Value) -> Value {
    let is_part = |part: &Value| part.text("type").is_some();
    match &*json::decoded(value) {
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(is_part) => {
            Value::Array(parts.clone())
        }
        _ => value.clone(),
    }
}
