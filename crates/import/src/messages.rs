//! Chat messages of every dialect: OpenAI, Anthropic, Gemini, the Responses API, the AI SDK, LangChain.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Value, json};

use crate::{
    event::{Call, Event, Skipped, ToolResult, Turn},
    failure,
    json::{self, Members, Object},
    text,
};

/// Items of the Responses API, besides `message`.
const ITEMS: [&str; 19] = [
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "web_search_call",
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "code_interpreter_call",
    "image_generation_call",
    "item_reference",
    // Its `role` makes it a message as well.
    "message",
];

const CALLS: [&str; 10] = [
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "tool-call",
    "tool_call",
    "toolCall",
    "function_call",
    "custom_tool_call",
    "mcp_call",
    "function",
];

const RESULTS: [&str; 10] = [
    "tool_result",
    "tool-result",
    "tool-error",
    "tool_call_response",
    "toolResult",
    "function_call_output",
    "custom_tool_call_output",
    "web_search_tool_result",
    "mcp_tool_result",
    "code_execution_tool_result",
];

/// Which side of a model call a value was recorded on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    /// Returns the role of a message that has none.
    pub fn role(self) -> &'static str {
        match self {
            Self::Input => "user",
            Self::Output => "assistant",
        }
    }
}

/// Returns whether a value is a message, or an item of the Responses API.
pub fn is_message(value: &Value) -> bool {
    value.as_object().is_some_and(is_message_object)
}

/// Returns whether an object is a message, or an item of the Responses API.
pub fn is_message_object(object: &Object) -> bool {
    let object = unwrapped(object);
    let has = |names: &[&str]| names.iter().any(|name| object.contains_key(*name));
    let kind = object.text("type").unwrap_or_default();
    if object.text("role").is_some() {
        return kind == "message"
            || has(&["content", "parts", "tool_calls", "text", "function_call"]);
    }
    let is_typed = ["human", "ai", "system", "tool"].contains(&kind) && has(&["content"]);
    is_typed || (ITEMS.contains(&kind) && kind != "message")
}

/// Returns a message without what frameworks wrap around it.
fn unwrapped(object: &Object) -> Cow<'_, Object> {
    if object.contains_key("lc")
        && let (Some(ids), Some(kwargs)) = (object.list("id"), object.object("kwargs"))
    {
        let mut message = kwargs.clone();
        if let Some(role) = ids.last() {
            message.insert("role".into(), role.clone());
        }
        return Cow::Owned(message);
    }
    match object.object("message") {
        Some(message) if !object.contains_key("role") && message.text("role").is_some() => {
            Cow::Borrowed(message)
        }
        _ => Cow::Borrowed(object),
    }
}

/// Returns the messages of a value that was recorded as input or as output; `None` if it has none that
/// can be read.
pub fn of(value: &Value, side: Side) -> Option<Vec<Value>> {
    let value = json::decoded(value);
    match &*value {
        Value::String(text) => {
            let is_answer = side == Side::Output && !json::is_blank(text);
            is_answer.then(|| vec![message(side, value.clone().into_owned())])
        }
        Value::Array(elements) => of_array(elements),
        Value::Object(object) => of_object(object, &value, side),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns what a person says in a value that was recorded as input: the text itself, the first human
/// message, or the member of an object that is a prompt.
pub fn human(value: &Value) -> Option<String> {
    let value = json::decoded(value);
    if let Value::String(text) = &*value {
        return (!json::is_blank(text)).then(|| text.clone());
    }
    if let Some(messages) = of(&value, Side::Input) {
        let mut conversation = Conversation::default();
        conversation.read_all(&messages);
        return conversation.events.into_iter().find_map(|event| match event {
            Event::Human(text) if !json::is_blank(&text) => Some(text),
            _ => None,
        });
    }
    let names = ["prompt", "input", "question", "query", "message", "text"];
    value.first_name(&names).map(Into::into)
}

fn message(side: Side, content: Value) -> Value {
    json!({ "role": side.role(), "content": content })
}

fn of_array(elements: &[Value]) -> Option<Vec<Value>> {
    if let [Value::Array(inner)] = elements {
        return of_array(inner);
    }
    if !elements.is_empty() && elements.iter().all(is_call) {
        return Some(vec![json!({ "role": "assistant", "tool_calls": elements })]);
    }
    let is_conversation = elements.iter().all(Value::is_object) && elements.iter().any(is_message);
    is_conversation.then(|| elements.to_vec())
}

fn of_object(object: &Object, value: &Value, side: Side) -> Option<Vec<Value>> {
    let lists: &[&str] = match object.get("role") {
        None => &["messages", "contents", "output", "input"],
        Some(_) => &["messages", "contents"],
    };
    if let Some(messages) =
        lists.iter().find_map(|name| object.list(name).and_then(|list| of_array(list)))
    {
        return Some(messages);
    }
    if let Some(contents) = object.text("contents") {
        return Some(vec![message(Side::Input, contents.into())]);
    }
    let first = |name| object.list(name).and_then(|list| list.first());
    if let Some(content) = first("candidates").and_then(|candidate| candidate.object("content")) {
        let mut content = content.clone();
        content.insert("role".into(), "assistant".into());
        return Some(vec![content.into()]);
    }
    if let Some(answer) = first("choices").and_then(|choice| choice.member("message")) {
        return Some(vec![answer.clone()]);
    }
    if is_message(value) {
        return Some(vec![value.clone()]);
    }
    if is_call(value) {
        return Some(vec![json!({ "role": "assistant", "tool_calls": [value] })]);
    }
    if let Some(new) = object.object("new_message") {
        return Some(vec![new.clone().into()]);
    }
    match object.get("content") {
        Some(content) if is_message(content) => return Some(vec![content.clone()]),
        Some(content @ (Value::Object(_) | Value::Array(_))) => {
            return Some(vec![message(side, content.clone())]);
        }
        _ => {}
    }
    match (side, object.get("prompt"), object.text("text")) {
        (Side::Input, Some(prompt @ Value::String(_)), _) => {
            Some(vec![message(side, prompt.clone())])
        }
        (Side::Input, Some(Value::Array(prompt)), _) => of_array(prompt),
        (Side::Output, _, Some(text)) => Some(vec![message(side, text.into())]),
        _ => None,
    }
}

/// Returns whether a value is a call that stands for itself, outside of a message.
fn is_call(value: &Value) -> bool {
    let Some(object) = value.as_object() else { return false };
    let is_sdk = object.contains_key("toolCallId") && object.contains_key("toolName");
    let is_function =
        object.text("type") == Some("function") && object.object("function").is_some();
    !object.contains_key("role") && (is_sdk || is_function)
}

/// Returns whether a part of this type is a call.
pub fn is_call_type(kind: &str) -> bool {
    CALLS.contains(&kind)
}

/// Returns whether a part of this type is a result.
pub fn is_result_type(kind: &str) -> bool {
    RESULTS.contains(&kind)
}

/// Returns the call of a part.
pub fn call_of_part(part: &Value, turn: Turn) -> Call {
    let function = part.member("function");
    let name = part
        .first_name(&["name", "toolName"])
        .or_else(|| function?.name("name"))
        .or_else(|| function?.as_str());
    let id = part.first_name(&["call_id", "toolCallId", "tool_call_id", "id"]);
    let names = ["input", "args", "arguments"];
    let input = if names.iter().any(|name| part.get(name).is_some()) {
        part.first(&names)
    } else {
        function.and_then(|function| function.get("arguments"))
    };
    Call::new(name, input, id, turn)
}

/// Returns the result of a part.
pub fn result_of_part(part: &Value, kind: &str, skipped: &mut Skipped) -> ToolResult {
    let value = part.first(&["content", "output", "response", "result", "error"]);
    let text = text::of(value.unwrap_or(&Value::Null), skipped);
    let said = failure::flag(part).or((kind == "tool-error").then_some(true)).or(text.failed);
    // Anthropic's results are judged by their flag alone.
    let failed = said.unwrap_or_else(|| kind != "tool_result" && failure::in_text(&text.text));
    let id = part.first_name(&["tool_use_id", "call_id", "toolCallId", "tool_call_id", "id"]);
    let name = part.first_name(&["name", "toolName"]);
    ToolResult { text: text.text, failed, id: id.map(Into::into), name: name.map(Into::into) }
}

/// Reads messages of every dialect into events.
#[derive(Debug, Default)]
pub struct Conversation {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What of the messages is not imported.
    pub skipped: Skipped,
    next: Turn,
    /// The turn that goes on with the next item of the assistant.
    open: Option<Turn>,
    /// All that is read belongs to the open turn.
    is_answer: bool,
    tools: HashSet<String>,
}

impl Conversation {
    /// Returns a conversation whose first turn has this number.
    pub fn starting_at(turn: Turn) -> Self {
        Self { next: turn, ..Self::default() }
    }

    /// Returns a turn of its own.
    pub fn next_turn(&mut self) -> Turn {
        self.next += 1;
        self.next - 1
    }

    /// Reads messages.
    pub fn read_all(&mut self, messages: &[Value]) {
        for message in messages {
            self.read(message);
        }
    }

    /// Reads messages that are one answer of the assistant, of one turn.
    pub fn read_answer(&mut self, messages: &[Value]) {
        self.open = None;
        self.is_answer = true;
        self.read_all(messages);
        self.is_answer = false;
        self.open = None;
    }

    /// Reads a message, or an item of the Responses API.
    pub fn read(&mut self, message: &Value) {
        let Some(message) = message.as_object().map(unwrapped) else {
            self.skipped.add("malformed");
            return;
        };
        let message: &Object = &message;
        let kind = message.text("type").unwrap_or_default();
        let Some(role) = message.text("role").or(message.text("type")) else {
            self.skipped.add("malformed");
            return;
        };
        if message.text("role").is_none() && ITEMS.contains(&kind) {
            self.read_item(message, kind);
            return;
        }
        match role {
            "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => {
                if kind != "message" {
                    self.end_turn();
                }
                self.read_assistant(message);
                return;
            }
            _ => self.end_turn(),
        }
        match role {
            "system" | "developer" | "SystemMessage" => self.skipped.add("system"),
            "user" | "human" | "HumanMessage" => self.read_user(message),
            "tool" | "function" | "toolResult" | "ToolMessage" | "FunctionMessage" => {
                self.read_tool(message, None);
            }
            role if self.tools.contains(role) => self.read_tool(message, Some(role)),
            role => self.skipped.add(format!("role:{role}")),
        }
    }

    fn end_turn(&mut self) {
        if !self.is_answer {
            self.open = None;
        }
    }

    fn turn(&mut self) -> Turn {
        let turn = self.open.unwrap_or_else(|| self.next_turn());
        self.open = Some(turn);
        turn
    }

    fn call(&mut self, call: Call) {
        self.tools.insert(call.name.clone());
        self.events.push(Event::Call(call));
    }

    fn read_assistant(&mut self, message: &Object) {
        let turn = self.turn();
        if let Some(reasoning) = message.first_name(&["reasoning_content", "reasoning"]) {
            self.events.push(Event::reasoned(reasoning));
        }
        let begin = self.events.len();
        for (kind, part) in parts(message) {
            match kind {
                kind if text::is_text_type(kind) || kind == "refusal" => {
                    let text = text::of_part(part).unwrap_or_default();
                    match calls_in_text(&text) {
                        Some(calls) => {
                            calls.iter().for_each(|call| self.call(call_of_part(call, turn)));
                        }
                        None => self.events.push(Event::said(text)),
                    }
                }
                "thinking" | "reasoning" | "thought" => {
                    self.events.push(Event::reasoned(text::of_part(part).unwrap_or_default()));
                }
                kind if is_call_type(kind) => self.call(call_of_part(part, turn)),
                kind if is_result_type(kind) => self.result(part, kind),
                kind => self.skipped.add(format!("part:{kind}")),
            }
        }
        let of_parts: HashSet<String> = self.events[begin..]
            .iter()
            .filter_map(|event| match event {
                Event::Call(call) => call.id.clone(),
                _ => None,
            })
            .collect();
        for call in calls_of(message) {
            if !call.is_object() {
                self.skipped.add("malformed");
                continue;
            }
            let call = call_of_part(call, turn);
            if call.id.as_ref().is_some_and(|id| of_parts.contains(id)) {
                self.skipped.add("repeated");
            } else {
                self.call(call);
            }
        }
    }

    fn read_user(&mut self, message: &Object) {
        let mut texts = Vec::new();
        for (kind, part) in parts(message) {
            match kind {
                kind if text::is_text_type(kind) => {
                    texts.push(text::of_part(part).unwrap_or_default());
                }
                kind if is_result_type(kind) => self.result(part, kind),
                kind => self.skipped.add(format!("part:{kind}")),
            }
        }
        if !texts.is_empty() {
            self.events.push(Event::Human(texts.join("\n")));
        }
    }

    /// Reads the answer of a tool; `role` is its name, where that stands in place of a role.
    fn read_tool(&mut self, message: &Object, role: Option<&str>) {
        let content = message.get("content");
        if let Some(Value::Object(content)) = content
            && content.text("type") == Some("function")
            && content.object("function").is_some()
        {
            self.skipped.add("tool_definition");
            return;
        }
        if let Some(calls) = content.and_then(Value::as_str).and_then(calls_in_text) {
            let turn = self.next_turn();
            calls.iter().for_each(|call| self.call(call_of_part(call, turn)));
            return;
        }
        let parts = parts(message);
        if parts.iter().any(|(kind, _)| is_result_type(kind)) {
            for (kind, part) in parts {
                match kind {
                    kind if is_result_type(kind) => self.result(part, kind),
                    kind => self.skipped.add(format!("part:{kind}")),
                }
            }
            return;
        }
        let value = message.first(&["content", "parts", "text"]).unwrap_or(&Value::Null);
        let text = text::of(value, &mut self.skipped);
        let id = message
            .first_name(&["tool_call_id", "toolCallId"])
            .or_else(|| message.list("tool_call_ids")?.first()?.as_str())
            .or_else(|| message.name("id"))
            .filter(|id| !json::is_blank(id));
        let name = message.first_name(&["name", "toolName"]).or(role);
        let failed = flag_of_message(message)
            .or(text.failed)
            .unwrap_or_else(|| failure::in_text(&text.text));
        self.events.push(Event::Result(ToolResult {
            text: text.text,
            failed,
            id: id.map(Into::into),
            name: name.map(Into::into),
        }));
    }

    fn result(&mut self, part: &Value, kind: &str) {
        let result = result_of_part(part, kind, &mut self.skipped);
        self.events.push(Event::Result(result));
    }

    fn read_item(&mut self, item: &Object, kind: &str) {
        let value = Value::Object(item.clone());
        match kind {
            "reasoning" => {
                self.turn();
                match text::of_summary(&value).or_else(|| content_text(item)) {
                    Some(text) => self.events.push(Event::reasoned(text)),
                    None => self.skipped.add("empty_text"),
                }
            }
            "function_call" | "custom_tool_call" => {
                let turn = self.turn();
                self.call(call_of_part(&value, turn));
            }
            "mcp_call" => {
                let turn = self.turn();
                let call = call_of_part(&value, turn);
                let id = call.id.clone();
                self.call(call);
                if let Some(output) = item.first(&["error", "output"]) {
                    let is_error = item.member("error").is_some();
                    let text = text::of(output, &mut self.skipped);
                    let failed =
                        is_error || text.failed.unwrap_or_else(|| failure::in_text(&text.text));
                    let result = ToolResult { text: text.text, failed, id, name: None };
                    self.events.push(Event::Result(result));
                }
            }
            "web_search_call"
            | "file_search_call"
            | "local_shell_call"
            | "computer_call"
            | "code_interpreter_call" => {
                let turn = self.turn();
                let input: Object = ["action", "actions", "queries", "query", "code"]
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), item.member(name)?.clone())))
                    .collect();
                let id = item.first_name(&["call_id", "id"]);
                let name = kind.trim_end_matches("_call");
                self.call(Call::new(Some(name), Some(&Value::Object(input)), id, turn));
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.end_turn();
                self.result(&value, kind);
            }
            kind => {
                if kind.ends_with("_output") {
                    self.end_turn();
                }
                self.skipped.add(format!("part:{kind}"));
            }
        }
    }
}

/// Returns what a tool message says of the tool's success by its flags.
fn flag_of_message(message: &Object) -> Option<bool> {
    let value = Value::Object(message.clone());
    failure::flag(&value)
        .or_else(|| message.flag("error"))
        .or_else(|| message.flag("tool_call_error"))
        .or_else(|| message.object("error").map(|_| true))
        .or_else(|| failure::flag(message.get("content").filter(|content| content.is_object())?))
}

fn content_text(item: &Object) -> Option<String> {
    match item.member("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(text::of_part).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

/// Returns the parts of a message with their types. A string is one text part, and an empty one none.
fn parts(message: &Object) -> Vec<(&str, &Value)> {
    fn of_value(content: &Value) -> Vec<(&str, &Value)> {
        match content {
            Value::Array(parts) => parts.iter().filter_map(typed).collect(),
            Value::Object(object) if object.list("parts").is_some() => {
                object.member("parts").map(of_value).unwrap_or_default()
            }
            part => typed(part).into_iter().collect(),
        }
    }
    message.first(&["parts", "content", "text"]).map(of_value).unwrap_or_default()
}

/// Returns a part with its type; `?` if it has none.
fn typed(part: &Value) -> Option<(&str, &Value)> {
    if let Some(text) = part.as_str() {
        return (!text.is_empty()).then_some(("text", part));
    }
    if let Some(kind) = part.text("type") {
        return Some((kind, part));
    }
    // Gemini's parts are told apart by their members.
    if part.text("text").is_some() {
        return Some((if part.flag("thought") == Some(true) { "thought" } else { "text" }, part));
    }
    let call = part.first(&["function_call", "functionCall"]).map(|call| ("function_call", call));
    let response = || part.first(&["function_response", "functionResponse"]);
    Some(call.or_else(|| Some(("tool_call_response", response()?))).unwrap_or(("?", part)))
}

/// Returns the calls that a message has besides its parts.
fn calls_of(message: &Object) -> &[Value] {
    let additional = || message.object("additional_kwargs")?.list("tool_calls");
    let lists = [message.list("tool_calls"), additional()];
    let list = lists.into_iter().flatten().find(|calls| !calls.is_empty());
    match list {
        Some(calls) => calls,
        None => message.member("function_call").map_or(&[], std::slice::from_ref),
    }
}

/// Returns the calls of a text that is a JSON array of them, as Koog writes it.
fn calls_in_text(text: &str) -> Option<Vec<Value>> {
    if !text.starts_with('[') {
        return None;
    }
    match json::parse(text) {
        Ok(Value::Array(calls)) if !calls.is_empty() && calls.iter().all(is_call) => Some(calls),
        _ => None,
    }
}
