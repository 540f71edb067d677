//! What messages say that happened.

use std::collections::HashSet;

use super::{ITEMS, Message, Messages, is_call};
use crate::{
    event::{Call, Event, Input, Skipped, ToolResult, Turn},
    failure,
    json::{self, Array, Document, Kind, Members, Value},
    text,
};

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

/// Returns whether a part of this type is a call.
pub fn is_call_type(kind: &str) -> bool {
    CALLS.contains(&kind)
}

/// Returns whether a part of this type is a result.
pub fn is_result_type(kind: &str) -> bool {
    RESULTS.contains(&kind)
}

/// Returns the call of a part.
pub fn call_of_part(part: Value, turn: Turn) -> Call {
    let function = part.member("function");
    let name = part
        .first_name(&["name", "toolName", "function_name"])
        .or_else(|| function?.name("name"))
        .or_else(|| function?.as_str());
    let id = part.first_name(&["call_id", "toolCallId", "tool_call_id", "id"]);
    let names = ["input", "args", "arguments"];
    let input = if names.iter().any(|name| part.has(name)) {
        part.first(&names)
    } else {
        function.and_then(|function| function.get("arguments"))
    };
    Call::new(name, Input::recorded(input), id, turn)
}

/// Returns the result of a part.
pub fn result_of_part(part: Value, kind: &str, skipped: &mut Skipped) -> ToolResult {
    let value = part.first(&["content", "output", "response", "result", "error"]);
    let text = value.map(|value| text::of(value, skipped)).unwrap_or_default();
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
    pub fn read_all(&mut self, messages: Messages) {
        messages.iter().for_each(|message| self.read(message));
    }

    /// Reads messages that are one answer of the assistant, of one turn.
    pub fn read_answer(&mut self, messages: Messages) {
        self.open = None;
        self.is_answer = true;
        self.read_all(messages);
        self.is_answer = false;
        self.open = None;
    }

    /// Returns the first text of a person that is not blank.
    pub fn first_human(self) -> Option<String> {
        self.events.into_iter().find_map(|event| match event {
            Event::Human(text) if !json::is_blank(&text) => Some(text),
            _ => None,
        })
    }

    /// Reads a message, or an item of the Responses API.
    pub fn read(&mut self, message: Message) {
        let message = message.unwrapped();
        let Some((message, role)) =
            message.and_then(|message| Some((message, message.role().or(message.text("type"))?)))
        else {
            self.skipped.add("malformed");
            return;
        };
        let kind = message.kind();
        if message.role().is_none() && ITEMS.contains(&kind) {
            if let Message::Recorded(item) | Message::Item(item) = message {
                self.read_item(item, kind);
            }
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

    fn read_assistant(&mut self, message: Message) {
        let turn = self.turn();
        if let Message::Answer { reasoning, text, calls } = message {
            self.events.extend(reasoning.map(Event::reasoned));
            if let Some(text) = text {
                self.say(text.into(), turn);
            }
            for call in calls.into_iter().flat_map(Array::iter).filter(|call| call.is_object()) {
                self.call(call_of_part(call, turn));
            }
            return;
        }
        if let Some(reasoning) = message.first_name(&["reasoning_content", "reasoning"]) {
            self.events.push(Event::reasoned(reasoning));
        }
        let begin = self.events.len();
        for (kind, part) in parts(message) {
            match kind {
                kind if text::is_text_type(kind) || kind == "refusal" => {
                    self.say(text::of_part(part).unwrap_or_default(), turn);
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
        for call in message.calls() {
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

    /// Takes a text of the assistant, which may be the JSON of its calls.
    fn say(&mut self, text: String, turn: Turn) {
        match calls_in_text(&text) {
            Some(document) => self.call_all(&document, turn),
            None => self.events.push(Event::said(text)),
        }
    }

    fn call_all(&mut self, calls: &Document, turn: Turn) {
        for call in calls.root().as_array().into_iter().flat_map(Array::iter) {
            self.call(call_of_part(call, turn));
        }
    }

    fn read_user(&mut self, message: Message) {
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
    fn read_tool(&mut self, message: Message, role: Option<&str>) {
        let content = message.get("content");
        if let Some(content) = content
            && content.text("type") == Some("function")
            && content.object("function").is_some()
        {
            self.skipped.add("tool_definition");
            return;
        }
        if let Some(calls) = content.and_then(Value::as_str).and_then(calls_in_text) {
            let turn = self.next_turn();
            self.call_all(&calls, turn);
            return;
        }
        let parts = parts(message);
        if parts.clone().any(|(kind, _)| is_result_type(kind)) {
            for (kind, part) in parts {
                match kind {
                    kind if is_result_type(kind) => self.result(part, kind),
                    kind => self.skipped.add(format!("part:{kind}")),
                }
            }
            return;
        }
        let value = message.first(&["content", "parts", "text"]);
        let text = value.map(|value| text::of(value, &mut self.skipped)).unwrap_or_default();
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

    fn result(&mut self, part: Value, kind: &str) {
        let result = result_of_part(part, kind, &mut self.skipped);
        self.events.push(Event::Result(result));
    }

    fn read_item(&mut self, item: Value, kind: &str) {
        match kind {
            "reasoning" => {
                self.turn();
                match text::of_summary(item).or_else(|| content_text(item)) {
                    Some(text) => self.events.push(Event::reasoned(text)),
                    None => self.skipped.add("empty_text"),
                }
            }
            "function_call" | "custom_tool_call" => {
                let turn = self.turn();
                self.call(call_of_part(item, turn));
            }
            "mcp_call" => {
                let turn = self.turn();
                let call = call_of_part(item, turn);
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
                let names = ["action", "actions", "queries", "query", "code"];
                let members = names.iter().filter_map(|name| Some((*name, item.member(name)?)));
                let input = Input::of(members);
                let id = item.first_name(&["call_id", "id"]);
                let name = kind.trim_end_matches("_call");
                self.call(Call::new(Some(name), input, id, turn));
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.end_turn();
                self.result(item, kind);
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
fn flag_of_message(message: Message) -> Option<bool> {
    let object = match message {
        Message::Recorded(value) | Message::WithRole(_, value) => Some(value),
        _ => None,
    };
    object
        .and_then(failure::flag)
        .or_else(|| message.flag("error"))
        .or_else(|| message.flag("tool_call_error"))
        .or_else(|| message.object("error").map(|_| true))
        .or_else(|| failure::flag(message.object("content")?))
}

fn content_text(item: Value) -> Option<String> {
    match item.member("content")?.kind() {
        Kind::String(text) => Some(text.into()),
        Kind::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(text::of_part).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

/// Returns the parts of a message with their types. A string is one text part, and an empty one none.
fn parts<'d>(message: Message<'d>) -> impl Iterator<Item = (&'d str, Value<'d>)> + Clone {
    let mut content = message.first(&["parts", "content", "text"]);
    while let Some(inner) = content.filter(|content| content.list("parts").is_some()) {
        content = inner.member("parts");
    }
    let array = content.and_then(Value::as_array);
    let one = content.filter(|_| array.is_none());
    array.into_iter().flat_map(Array::iter).chain(one).filter_map(typed)
}

/// Returns a part with its type; `?` if it has none.
fn typed(part: Value<'_>) -> Option<(&str, Value<'_>)> {
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

/// Returns the calls of a text that is a JSON array of them, as Koog writes it.
fn calls_in_text(text: &str) -> Option<Document<'_>> {
    if !text.starts_with('[') {
        return None;
    }
    let document = Document::parse(text).ok()?;
    let calls = document.root().as_array().filter(|calls| !calls.is_empty());
    let are_calls = calls.is_some_and(|calls| calls.iter().all(is_call));
    are_calls.then_some(document)
}
