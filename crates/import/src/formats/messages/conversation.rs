//! Reads messages of every dialect into the events of a run.

use std::collections::HashSet;

use super::message::{ITEMS, Message, Messages, is_call, is_function_call};
use crate::{
    events::{Call, CallInput, Event, Run, Skipped, ToolResult, Turn},
    json::{self, Array, Document, Kind, Members, Value},
    results::{flag, is_text_type, text_of, text_of_member, text_of_part, text_of_summary},
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
    Call::new(name, CallInput::recorded(input), id, turn)
}

/// Returns the result of a part.
pub fn result_of_part(part: Value, kind: &str, skipped: &mut Skipped) -> ToolResult {
    let value = part.first(&["content", "output", "response", "result", "error"]);
    let output = text_of_member(value, skipped);
    let flag = flag(part).or((kind == "tool-error").then_some(true)).or(output.failed);
    // Anthropic's results are judged by their flag alone.
    let result = output.into_result(flag.or((kind == "tool_result").then_some(false)));
    let id = part.first_name(&["tool_use_id", "call_id", "toolCallId", "tool_call_id", "id"]);
    let name = part.first_name(&["name", "toolName"]);
    ToolResult { id: id.map(Into::into), name: name.map(Into::into), ..result }
}

/// The turns of a run whose messages are being read.
#[derive(Debug, Default)]
pub struct Turns {
    pub next: Turn,
    /// The turn that goes on with the next item of the assistant.
    open: Option<Turn>,
    /// Whether all messages belong to the open turn.
    is_answer: bool,
    /// The names of the tools that were called.
    tools: HashSet<String>,
}

impl Run {
    /// Returns a new turn.
    pub fn next_turn(&mut self) -> Turn {
        self.turns.next += 1;
        self.turns.next - 1
    }

    /// Reads messages.
    pub fn read_messages(&mut self, messages: Messages) {
        messages.iter().for_each(|message| self.read_message(message));
    }

    /// Reads messages that are one answer of the assistant.
    pub fn read_answer(&mut self, messages: Messages) {
        self.turns.open = None;
        self.turns.is_answer = true;
        self.read_messages(messages);
        self.turns.is_answer = false;
        self.turns.open = None;
    }

    /// Returns the first text of a person that is not blank.
    pub fn first_human(self) -> Option<String> {
        self.events.into_iter().find_map(|event| match event {
            Event::Human(text) if !json::is_blank(&text) => Some(text),
            _ => None,
        })
    }

    /// Reads a message, or an item of the Responses API.
    pub fn read_message(&mut self, message: Message) {
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
            role if self.turns.tools.contains(role) => self.read_tool(message, Some(role)),
            role => self.skipped.add(format!("role:{role}")),
        }
    }

    fn end_turn(&mut self) {
        if !self.turns.is_answer {
            self.turns.open = None;
        }
    }

    fn turn(&mut self) -> Turn {
        let turn = self.turns.open.unwrap_or_else(|| self.next_turn());
        self.turns.open = Some(turn);
        turn
    }

    fn call(&mut self, call: Call) {
        self.turns.tools.insert(call.name.clone());
        self.events.push(Event::Call(call));
    }

    fn read_assistant(&mut self, message: Message) {
        let turn = self.turn();
        if let Some(reasoning) = message.first_name(&["reasoning_content", "reasoning"]) {
            self.events.push(Event::reasoned(reasoning));
        }
        let begin = self.events.len();
        for (kind, part) in parts(message) {
            match kind {
                kind if is_text_type(kind) || kind == "refusal" => {
                    self.say(text_of_part(part).unwrap_or_default(), turn);
                }
                "thinking" | "reasoning" | "thought" => {
                    self.events.push(Event::reasoned(text_of_part(part).unwrap_or_default()));
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

    /// Reads a text of the assistant, which may be the JSON of its calls.
    fn say(&mut self, text: String, turn: Turn) {
        match calls_in_text(&text) {
            Some(document) => self.call_all(document.root().as_array(), turn),
            None => self.events.push(Event::said(text)),
        }
    }

    fn call_all(&mut self, calls: Option<Array>, turn: Turn) {
        for call in calls.into_iter().flatten() {
            self.call(call_of_part(call, turn));
        }
    }

    fn read_user(&mut self, message: Message) {
        let mut texts = Vec::new();
        for (kind, part) in parts(message) {
            match kind {
                kind if is_text_type(kind) => {
                    texts.push(text_of_part(part).unwrap_or_default());
                }
                kind if is_result_type(kind) => self.result(part, kind),
                kind => self.skipped.add(format!("part:{kind}")),
            }
        }
        if !texts.is_empty() {
            self.events.push(Event::Human(texts.join("\n")));
        }
    }

    /// Reads the result of a tool. `role` is the role of the message if it is the tool's name.
    fn read_tool(&mut self, message: Message, role: Option<&str>) {
        let content = message.get("content");
        if let Some(content) = content
            && content.text("type") == Some("function")
            && content.object("function").is_some()
        {
            self.skipped.add("tool_definition");
            return;
        }
        if let Some(document) = content.and_then(Value::as_str).and_then(calls_in_text) {
            let turn = self.next_turn();
            return self.call_all(document.root().as_array(), turn);
        }
        // Langfuse shows text that is JSON as what it means.
        let calls = content.and_then(Value::as_array);
        if calls.is_some_and(|calls| !calls.is_empty() && calls.iter().all(is_function_call)) {
            let turn = self.next_turn();
            return self.call_all(calls, turn);
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
        let output = text_of_member(value, &mut self.skipped);
        let id = message
            .first_name(&["tool_call_id", "toolCallId"])
            .or_else(|| message.list("tool_call_ids")?.first()?.as_str())
            .or_else(|| message.name("id"))
            .filter(|id| !json::is_blank(id));
        let name = message.first_name(&["name", "toolName"]).or(role);
        let result = output.into_result(flag_of_message(message));
        let (id, name) = (id.map(Into::into), name.map(Into::into));
        self.events.push(Event::Result(ToolResult { id, name, ..result }));
    }

    fn result(&mut self, part: Value, kind: &str) {
        let result = result_of_part(part, kind, &mut self.skipped);
        self.events.push(Event::Result(result));
    }

    fn read_item(&mut self, item: Value, kind: &str) {
        match kind {
            "reasoning" => {
                self.turn();
                match text_of_summary(item).or_else(|| content_text(item)) {
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
                    let is_error = item.member("error").map(|_| true);
                    let result = text_of(output, &mut self.skipped).into_result(is_error);
                    self.events.push(Event::Result(ToolResult { id, ..result }));
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
                let input = CallInput::of(members);
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

/// Returns whether a tool message says by a flag that the tool failed.
fn flag_of_message(message: Message) -> Option<bool> {
    let object = match message {
        Message::Recorded(value) | Message::WithRole(_, value) => Some(value),
        _ => None,
    };
    object
        .and_then(flag)
        .or_else(|| message.flag("error"))
        .or_else(|| message.flag("tool_call_error"))
        .or_else(|| message.object("error").map(|_| true))
        .or_else(|| flag(message.object("content")?))
}

fn content_text(item: Value) -> Option<String> {
    match item.member("content")?.kind() {
        Kind::String(text) => Some(text.into()),
        Kind::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(text_of_part).collect();
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
    array.into_iter().flatten().chain(one).filter_map(typed)
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
