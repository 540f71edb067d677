//! Finds the messages in recorded values.

use super::items::ITEMS;
use crate::{
    events::Run,
    json::{self, Array, Kind, Made, Members, Value},
};

/// The side of a model call on which a value was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    /// Both, in the order of [`Sides`].
    pub const BOTH: [Self; 2] = [Self::Input, Self::Output];

    /// Returns the role of a message that has none.
    pub fn role(self) -> &'static str {
        match self {
            Self::Input => "user",
            Self::Output => "assistant",
        }
    }
}

/// A message, or an item of the Responses API, as it was recorded.
#[derive(Clone, Copy)]
pub enum Message<'d> {
    /// A message, possibly in the wrapper of a framework.
    Recorded(Value<'d>),
    /// An object with a role beside it.
    WithRole(&'d str, Value<'d>),
    /// An item of the Responses API, which is a `message` unless it has another type.
    Item(Value<'d>),
    /// The content of a message of this role.
    Content(&'d str, Option<Value<'d>>),
    /// A call of the assistant, or an array of them.
    Calls(Value<'d>),
    /// A step of the assistant in ATIF.
    Step(Value<'d>),
}

impl<'d> Message<'d> {
    /// Returns the message without the wrapper of a framework; `None` if it is not an object.
    pub fn unwrapped(self) -> Option<Self> {
        let Self::Recorded(value) = self else { return Some(self) };
        let object = value.as_object()?;
        if object.has("lc")
            && let (Some(ids), Some(kwargs)) = (object.list("id"), object.object("kwargs"))
        {
            let role = ids.last().and_then(Value::as_str);
            return Some(role.map_or(Self::Recorded(kwargs), |role| Self::WithRole(role, kwargs)));
        }
        if object.has("role") {
            return Some(self);
        }
        // As LangChain stores it.
        if let Some(data) = object.object("data").filter(|data| data.has("content")) {
            match object.text("type") {
                Some(role @ ("human" | "ai" | "system" | "tool" | "function")) => {
                    return Some(Self::WithRole(role, data));
                }
                Some("generic") => return Some(Self::Recorded(data)),
                _ => {}
            }
        }
        let message = object.object("message").filter(|message| message.text("role").is_some());
        Some(message.map_or(self, Self::Recorded))
    }

    /// Returns whether a value is a message, or an item of the Responses API.
    pub fn is_valid(self) -> bool {
        let Some(message) = self.unwrapped() else { return false };
        let has = |names: &[&str]| names.iter().any(|name| message.has(name));
        let kind = message.kind();
        if message.role().is_some() {
            return kind == "message"
                || has(&["content", "parts", "tool_calls", "text", "function_call"]);
        }
        let is_typed = ["human", "ai", "AIMessageChunk", "system", "tool"].contains(&kind)
            && has(&["content"]);
        is_typed || (ITEMS.contains(&kind) && kind != "message")
    }

    /// Returns the role of a message without a wrapper.
    pub fn role(self) -> Option<&'d str> {
        match self {
            Self::Recorded(value) | Self::Item(value) => value.text("role"),
            Self::WithRole(role, _) | Self::Content(role, _) => Some(role),
            Self::Calls(_) | Self::Step(_) => Some("assistant"),
        }
    }

    /// Returns the type of a message without a wrapper, or an empty one.
    pub fn kind(self) -> &'d str {
        let default = if matches!(self, Self::Item(_)) { "message" } else { "" };
        self.text("type").unwrap_or(default)
    }

    /// Returns the calls that a message has besides its parts.
    pub(super) fn calls(self) -> Vec<Value<'d>> {
        if let Self::Calls(calls) = self {
            return calls.as_array().map_or_else(|| vec![calls], |calls| calls.iter().collect());
        }
        let additional = self.object("additional_kwargs").list("tool_calls");
        let lists = [self.list("tool_calls"), additional];
        let list = lists.into_iter().flatten().find(|calls| !calls.is_empty());
        list.map_or_else(
            || self.member("function_call").into_iter().collect(),
            |calls| calls.iter().collect(),
        )
    }

    /// Returns the message as a value, which [`Message::Recorded`] reads again.
    pub fn made(self) -> Made<'d> {
        match self {
            Self::Recorded(value) | Self::Item(value) | Self::Step(value) => Made::Value(value),
            Self::WithRole(role, value) => with_role(role, value.members()),
            Self::Content(role, content) => {
                with_role(role, content.map(|value| ("content", value)))
            }
            Self::Calls(_) => {
                let calls = self.calls().into_iter().map(Made::Value).collect();
                let role = ("role", Made::Text("assistant"));
                Made::Object([role, ("tool_calls", Made::List(calls))].into())
            }
        }
    }
}

/// Returns an object of these members with a role in place of its own.
pub fn with_role<'d>(
    role: &'d str,
    members: impl IntoIterator<Item = (&'d str, Value<'d>)>,
) -> Made<'d> {
    let members = members.into_iter().map(|(name, value)| (name, Made::Value(value)));
    Made::Object(members.chain([("role", Made::Text(role))]).collect())
}

impl<'d> Members<'d> for Message<'d> {
    fn get(&self, name: &str) -> Option<Value<'d>> {
        match *self {
            Self::Recorded(value) | Self::Item(value) | Self::WithRole(_, value) => value.get(name),
            Self::Content(_, content) => content.filter(|_| name == "content"),
            Self::Step(step) => match name {
                "content" => step.get("message"),
                "reasoning_content" | "tool_calls" => step.get(name),
                _ => None,
            },
            Self::Calls(_) => None,
        }
    }
}

#[derive(Clone, Copy)]
pub enum Messages<'d> {
    Array(Array<'d>),
    /// The strings in an array, each a message of the user.
    Prompts(Array<'d>),
    One(Message<'d>),
}

/// The messages of both sides.
pub type Sides<'d> = [Option<Messages<'d>>; 2];

impl<'d> Messages<'d> {
    pub fn iter(self) -> impl Iterator<Item = Message<'d>> {
        let (array, prompts, one) = match self {
            Self::Array(elements) => (Some(elements), None, None),
            Self::Prompts(elements) => (None, Some(elements), None),
            Self::One(message) => (None, None, Some(message)),
        };
        let prompts = prompts.into_iter().flatten().filter(|prompt| prompt.is_string());
        let prompts = prompts.map(|prompt| Message::Content("user", Some(prompt)));
        array.into_iter().flatten().map(Message::Recorded).chain(prompts).chain(one)
    }

    /// Returns a run of these messages alone.
    pub fn run(self) -> Run {
        let mut run = Run::default();
        run.read_messages(self);
        run
    }
}

pub fn is_message(value: Value) -> bool {
    Message::Recorded(value).is_valid()
}

/// Returns the messages of a value that was recorded as input or as output; `None` if none can be read.
pub fn messages_of(value: Value, side: Side) -> Option<Messages> {
    let value = value.decoded();
    match value.kind() {
        Kind::String(text) => {
            let is_answer = side == Side::Output && !json::is_blank(text);
            is_answer.then(|| content_of(side, value))
        }
        Kind::Array(_) => of_array(value),
        Kind::Object(object) => of_object(object, side),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => None,
    }
}

/// Returns the text of a person in a value that was recorded as input: the value itself, the first human
/// message, or the prompt.
pub fn human(value: Value) -> Option<String> {
    let value = value.decoded();
    if let Some(text) = value.as_str() {
        return (!json::is_blank(text)).then(|| text.into());
    }
    if let Some(messages) = messages_of(value, Side::Input) {
        return messages.run().first_human();
    }
    let names = ["prompt", "input", "question", "query", "message", "text"];
    value.first_name(&names).map(Into::into)
}

fn content_of(side: Side, content: Value) -> Messages {
    Messages::One(Message::Content(side.role(), Some(content)))
}

fn of_array(value: Value<'_>) -> Option<Messages<'_>> {
    let elements = value.as_array()?;
    let mut all = elements.iter();
    if let (Some(first), None) = (all.next(), all.next())
        && first.is_array()
    {
        return of_array(first);
    }
    if !elements.is_empty() && elements.iter().all(is_call) {
        return Some(Messages::One(Message::Calls(value)));
    }
    let is_conversation = elements.iter().all(Value::is_object) && elements.iter().any(is_message);
    is_conversation.then_some(Messages::Array(elements))
}

fn of_object(object: Value, side: Side) -> Option<Messages> {
    let lists: &[&str] = match object.get("role") {
        None => &["messages", "contents", "output", "input"],
        Some(_) => &["messages", "contents"],
    };
    if let Some(messages) = lists.iter().find_map(|name| of_array(object.get(name)?)) {
        return Some(messages);
    }
    let one = |message| Some(Messages::One(message));
    if let Some(contents) = object.get("contents").filter(|contents| contents.is_string()) {
        return Some(content_of(Side::Input, contents));
    }
    let first = |name| object.list(name).and_then(Array::first);
    if let Some(content) = first("candidates").object("content") {
        return one(Message::WithRole("assistant", content));
    }
    if let Some(answer) = first("choices").member("message") {
        return one(Message::Recorded(answer));
    }
    if is_message(object) {
        return one(Message::Recorded(object));
    }
    if is_call(object) {
        return one(Message::Calls(object));
    }
    if let Some(new) = object.object("new_message") {
        return one(Message::Recorded(new));
    }
    match object.get("content") {
        Some(content) if is_message(content) => return one(Message::Recorded(content)),
        Some(content) if content.is_object() || content.is_array() => {
            return Some(content_of(side, content));
        }
        _ => {}
    }
    match object.get("prompt").filter(|_| side == Side::Input) {
        Some(prompt) if prompt.is_string() => Some(content_of(side, prompt)),
        Some(prompt) if prompt.is_array() => of_array(prompt),
        _ => {
            let text = object.get("text").filter(|text| text.is_string());
            text.filter(|_| side == Side::Output).map(|text| content_of(side, text))
        }
    }
}

/// Returns whether a value is a call outside of a message.
pub(super) fn is_call(value: Value) -> bool {
    let is_sdk = value.has("toolCallId") && value.has("toolName");
    value.is_object() && !value.has("role") && (is_sdk || is_function_call(value))
}

/// Returns whether a value is a call as OpenAI has it in `tool_calls`.
pub(super) fn is_function_call(value: Value) -> bool {
    value.text("type") == Some("function") && value.object("function").is_some()
}
