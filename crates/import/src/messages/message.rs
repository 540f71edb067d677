//! Finds the messages in recorded values.

use super::parts::is_call;
use crate::{
    json::{self, Array, Members, Value},
    part::is_item,
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

/// A message, or what is recorded of one.
#[derive(Clone, Copy)]
pub enum Message<'d> {
    /// A message, and the role in place of its own.
    Whole(Option<&'d str>, Value<'d>),
    /// The content of a message of the user or of the assistant.
    Content(Side, Value<'d>),
    /// The reasoning of an answer.
    Reasoning(Value<'d>),
    /// The calls of an answer.
    Calls(Array<'d>),
}

impl<'d> Message<'d> {
    /// Returns a message, which has this role if it has none of its own.
    pub fn or_as(role: &'static str, message: Value<'d>) -> Self {
        Self::Whole(message.text("role").is_none().then_some(role), message)
    }
}

/// The messages of a value.
pub enum Messages<'d> {
    /// The elements of an array, of which there may be millions that are none.
    Recorded(Array<'d>),
    Listed(Vec<Message<'d>>),
}

impl<'d> Messages<'d> {
    pub fn one(message: Message<'d>) -> Self {
        Self::Listed(vec![message])
    }

    /// Returns `None` if there are none.
    pub fn listed(messages: impl Iterator<Item = Message<'d>>) -> Option<Self> {
        let messages: Vec<_> = messages.collect();
        (!messages.is_empty()).then_some(Self::Listed(messages))
    }

    pub fn iter(&self) -> impl Iterator<Item = Message<'d>> {
        let (recorded, listed) = match self {
            Self::Recorded(messages) => (Some(*messages), &[][..]),
            Self::Listed(messages) => (None, &messages[..]),
        };
        let recorded = recorded.into_iter().flatten();
        recorded.map(|message| Message::Whole(None, message)).chain(listed.iter().copied())
    }
}

/// The messages of both sides.
pub type Sides<'d> = [Option<Messages<'d>>; 2];

/// Returns a message without the wrapper of a framework, and its role; `None` if it is not an object.
pub fn unwrapped<'d>(value: Value<'d>) -> Option<(Option<&'d str>, Value<'d>)> {
    let with_own_role = |message: Value<'d>| Some((message.text("role"), message));
    let object = value.as_object()?;
    if object.has("lc")
        && let (Some(ids), Some(kwargs)) = (object.list("id"), object.object("kwargs"))
    {
        let role = ids.last().and_then(Value::as_str);
        return Some((role.or_else(|| kwargs.text("role")), kwargs));
    }
    if object.has("role") {
        return with_own_role(object);
    }
    // As in ShareGPT.
    if let (Some(role), true) = (object.text("from"), object.has("value")) {
        return Some((Some(role), object));
    }
    // As LangChain stores it.
    let data = object.object("data").filter(|data| data.has("content"));
    match (object.text("type"), data) {
        (role @ Some("human" | "ai" | "system" | "tool" | "function"), Some(data)) => {
            Some((role, data))
        }
        (Some("generic"), Some(data)) => with_own_role(data),
        _ => {
            let message = object.object("message").filter(|message| message.text("role").is_some());
            // Strands Agents keeps a message beside what stands in its place.
            let message = message.map(|message| object.object("redact_message").unwrap_or(message));
            with_own_role(message.unwrap_or(object))
        }
    }
}

/// Returns whether a value is a message, or an item of the Responses API.
pub fn is_message(value: Value) -> bool {
    unwrapped(value).is_some_and(|(role, message)| {
        is_readable(role, message.text("type").unwrap_or_default(), message)
    })
}

/// The members of which a message with a role has one at least.
pub const CONTENTS: [&str; 5] = ["content", "parts", "tool_calls", "text", "function_call"];

/// Returns whether an object with this role and type is a message or an item.
pub fn is_readable(role: Option<&str>, kind: &str, message: Value) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| message.has(name));
    if let Some(role) = role {
        return kind == "message"
            || has(&CONTENTS)
            || message.has("from")
            // As in Microsoft.Extensions.AI, and in Kimi CLI.
            || message.list("contents").is_some()
            || role.starts_with('_');
    }
    let is_typed =
        ["human", "ai", "AIMessageChunk", "system", "tool"].contains(&kind) && has(&["content"]);
    is_typed || is_item(kind)
}

/// Returns the messages of a value that was recorded as input or as output; `None` if none can be read.
pub fn messages_of(value: Value, side: Side) -> Option<Messages> {
    let value = value.decoded();
    match value.as_str() {
        Some(text) if side == Side::Output && !json::is_blank(text) => content_of(side, value),
        Some(_) => None,
        None => of_array(value).or_else(|| of_object(value.as_object()?, side)),
    }
}

pub fn content_of(side: Side, content: Value) -> Option<Messages> {
    Some(Messages::one(Message::Content(side, content)))
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
        return Some(Messages::one(Message::Calls(elements)));
    }
    let is_conversation = elements.iter().all(Value::is_object) && elements.iter().any(is_message);
    is_conversation.then_some(Messages::Recorded(elements))
}

fn of_object<'d>(object: Value<'d>, side: Side) -> Option<Messages<'d>> {
    let lists: &[&str] = match object.get("role") {
        None => &["messages", "contents", "output", "input"],
        Some(_) => &["messages"],
    };
    if let Some(messages) = lists.iter().find_map(|name| of_array(object.get(name)?)) {
        return Some(messages);
    }
    if let Some(contents) = object.get("contents").filter(|contents| contents.is_string()) {
        return content_of(Side::Input, contents);
    }
    let one = |message: Value<'d>| Some(Messages::Recorded(message.alone()));
    let first = |name| object.list(name).and_then(Array::first);
    if let Some(content) = first("candidates").object("content") {
        return Some(Messages::one(Message::Whole(Some("assistant"), content)));
    }
    let itself = || is_message(object).then_some(object);
    if let Some(message) = first("choices").member("message").or_else(itself) {
        return one(message);
    }
    if is_call(object) {
        return Some(Messages::one(Message::Calls(object.alone())));
    }
    let content = object.get("content");
    let inside = || content.filter(|content| is_message(*content));
    if let Some(message) = object.object("new_message").or_else(inside) {
        return one(message);
    }
    if let Some(content) = content.filter(|content| content.is_object() || content.is_array()) {
        return content_of(side, content);
    }
    let text = object.get(["prompt", "text"][side as usize])?;
    if text.is_string() {
        return content_of(side, text);
    }
    of_array(text).filter(|_| side == Side::Input)
}
