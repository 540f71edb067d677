//! Reads messages of every dialect into the events of a run.

use std::{collections::HashSet, mem};

use super::{
    items::ITEMS,
    message::{Messages, Sides, is_call, is_function_call, unwrapped},
    tool_part::ToolPart,
};
use crate::{
    events::{Call, CallInput, Event, Run, Skipped, ToolResult, Turn},
    json::{self, Array, Document, Members, Value},
    results::{Output, flag, is_denial, is_text_type, text_of, text_of_part, text_of_parts},
};

const CALLS: [&str; 10] = [
    "tool_use", "server_tool_use", "mcp_tool_use", "tool-call", "tool_call", "toolCall",
    "function_call", "custom_tool_call", "mcp_call", "function",
];

const RESULTS: [&str; 10] = [
    "tool_result", "tool-result", "tool-error", "tool_call_response", "toolResult",
    "function_call_output", "custom_tool_call_output", "web_search_tool_result", "mcp_tool_result",
    "code_execution_tool_result",
];

/// The type of a part with which a person answers whether a call may run.
const RESPONSE: &str = "tool-approval-response";

/// The members in which a result has its output.
const OUTPUTS: [&str; 5] = ["content", "output", "response", "result", "error"];

fn is_reasoning_type(kind: &str) -> bool {
    ["thinking", "reasoning", "thought"].contains(&kind)
}

pub fn is_result_type(kind: &str) -> bool {
    RESULTS.contains(&kind)
}

pub fn call_of_part(part: Value, turn: Turn) -> Call {
    let function = part.member("function");
    let name = part
        .first_name(&["name", "toolName", "function_name"])
        .or_else(|| function.name("name"))
        .or_else(|| function?.as_str());
    let id = part.first_name(&["call_id", "callId", "toolCallId", "tool_call_id", "id"]);
    let names = ["input", "args", "arguments"];
    let input = if names.iter().any(|name| part.has(name)) {
        part.first(&names)
    } else {
        function.get("arguments")
    };
    Call::new(name, CallInput::recorded(input), id, turn)
}

pub fn result_of_part(part: Value, kind: &str, skipped: &mut Skipped) -> ToolResult {
    let value = part.first(&OUTPUTS);
    let is_one_part = ["function_call_result", "computer_call_result"].contains(&kind);
    let output = match value.filter(|value| is_one_part && value.text("type").is_some()) {
        Some(part) => Output { text: text_of_parts([part], skipped), failed: flag(part) },
        None => text_of(value, skipped),
    };
    let has_status = ["shell_call_output", "apply_patch_call_output"].contains(&kind);
    let has_failed = kind == "tool-error" || (has_status && part.text("status") == Some("failed"));
    let flag = flag(part).or(has_failed.then_some(true)).or(output.failed);
    // Anthropic's results are judged by their flag alone.
    let result = output.into_result(flag.or((kind == "tool_result").then_some(false)));
    let ids = ["tool_use_id", "call_id", "callId", "toolCallId", "tool_call_id", "id"];
    let id = part.first_name(&ids);
    let name = part.first_name(&["name", "toolName"]);
    ToolResult { id: id.map(Into::into), name: name.map(Into::into), ..result }
}

impl Run {
    pub fn next_turn(&mut self) -> Turn {
        self.turns.next += 1;
        self.turns.next - 1
    }

    /// Returns a run of these messages alone.
    pub fn of(messages: &Messages) -> Self {
        let mut run = Self::default();
        run.read_messages(messages.iter());
        run
    }

    pub fn read_messages<'d>(&mut self, messages: impl IntoIterator<Item = Value<'d>>) {
        messages.into_iter().for_each(|message| self.read_message(message));
    }

    pub fn read_sides(&mut self, [input, output]: &Sides) {
        self.read_messages(input.iter().flat_map(Messages::iter));
        self.read_answer(output.iter().flat_map(Messages::iter));
    }

    /// Reads messages that are one answer of the assistant.
    pub fn read_answer<'d>(&mut self, messages: impl IntoIterator<Item = Value<'d>>) {
        self.turns.open = None;
        self.turns.is_answer = true;
        self.read_messages(messages);
        self.turns.is_answer = false;
        self.turns.open = None;
    }

    /// Returns the first text of a person that is not blank.
    pub fn first_human(self) -> Option<String> {
        let mut texts = self.events.iter().filter_map(Event::human);
        texts.find(|text| !json::is_blank(text)).cloned()
    }

    pub fn read_message(&mut self, value: Value) {
        match unwrapped(value) {
            Some((role, message)) => self.read_as(role, message.text("type"), message),
            None => self.skipped.add("malformed"),
        }
    }

    /// Reads a message or an item with this role and type.
    pub fn read_as(&mut self, own_role: Option<&str>, kind: Option<&str>, message: Value) {
        let Some(role) = own_role.or(kind) else { return self.skipped.add("malformed") };
        let kind = kind.unwrap_or_default();
        if own_role.is_none() && ITEMS.contains(&kind) {
            return self.read_item(message, kind);
        }
        let is_answer =
            matches!(role, "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk");
        if !is_answer || kind != "message" {
            self.end_turn();
        }
        match role {
            _ if is_answer => self.read_assistant(Some(message), content(message)),
            "system" | "developer" | "SystemMessage" => self.skipped.add("system"),
            "user" | "human" | "HumanMessage" => self.read_user(content(message)),
            "tool" | "function" | "toolResult" | "ToolMessage" | "FunctionMessage" => {
                self.read_tool(message, None);
            }
            role if self.turns.is_tool(role) => self.read_tool(message, Some(role)),
            role => self.skipped.add(format!("role:{role}")),
        }
    }

    pub fn end_turn(&mut self) {
        if !self.turns.is_answer {
            self.turns.open = None;
        }
    }

    pub fn turn(&mut self) -> Turn {
        let turn = self.turns.open.unwrap_or_else(|| self.next_turn());
        self.turns.open = Some(turn);
        turn
    }

    pub fn call(&mut self, call: Call) {
        self.turns.call(&call);
        self.events.push(Event::Call(call));
    }

    /// Adds a call, and its result after the last part of the step.
    pub fn call_with_result(&mut self, call: Call, result: Option<ToolResult>) {
        self.turns.results.extend(result.map(|result| call.answer(result)));
        self.call(call);
    }

    /// Ends a step: adds the results of its calls.
    pub fn end_step(&mut self) {
        self.events.extend(mem::take(&mut self.turns.results));
    }

    /// Reads the content of an answer that begins in a turn. Returns the turn in which it ends.
    pub fn read_content(&mut self, content: Option<Value>, turn: Turn) -> Turn {
        self.turns.open = Some(turn);
        self.read_assistant(None, content);
        self.turn()
    }

    /// Reads an answer with this content, which the message has besides other members.
    pub fn read_assistant(&mut self, message: Option<Value>, content: Option<Value>) {
        let mut turn = self.turn();
        let reasoning = message
            .first_name(&["reasoning_content", "reasoning"])
            .or_else(|| message.object("additional_kwargs").name("reasoning_content"));
        if let Some(reasoning) = reasoning {
            let mut parts = message.elements("parts").filter_map(typed);
            if parts.any(|(kind, _)| is_reasoning_type(kind)) {
                self.skipped.add("repeated");
            } else {
                self.events.push(Event::reasoned(reasoning));
            }
        }
        let begin = self.events.len();
        let mut of_parts = HashSet::new();
        for (kind, part) in parts(content) {
            let tool = ToolPart::of(kind, part);
            of_parts.extend(tool.and_then(ToolPart::id).map(str::to_owned));
            if kind == "step-start" {
                self.end_step();
                turn = self.next_turn();
                self.turns.open = Some(turn);
            } else if self.is_repeated(kind, part) {
                self.skipped.add("repeated");
            } else if let Some(tool) = tool {
                self.read_tool_part(tool, turn);
            } else if is_text_type(kind) || kind == "refusal" {
                self.say(text_of_part(part).unwrap_or_default(), turn);
            } else if is_reasoning_type(kind) {
                self.events.push(Event::reasoned(text_of_part(part).unwrap_or_default()));
            } else if CALLS.contains(&kind) {
                self.call(call_of_part(part, turn));
            } else if is_result_type(kind) {
                self.result(part, kind);
            } else {
                self.skip_part(kind, part);
            }
        }
        let calls = calls(message);
        // LangChain keeps calls with invalid JSON in a separate list, or with the others in `additional_kwargs`.
        if calls.is_empty() || message.elements("tool_calls").next().is_some() {
            let invalid = message.elements("invalid_tool_calls").count();
            self.skipped.add_many("part:invalid_tool_call", invalid as u64);
        }
        let events = self.events[begin..].iter();
        of_parts.extend(events.filter_map(|event| event.call()?.id.clone()));
        let is_of_part = |id: Option<&str>| id.is_some_and(|id| of_parts.contains(id));
        for call in calls {
            match call.as_object().map(|call| call_of_part(call, turn)) {
                None => self.skipped.add("malformed"),
                Some(call) if is_of_part(call.id.as_deref()) => self.skipped.add("repeated"),
                Some(call) => self.call(call),
            }
        }
        let invocations = message
            .list("toolInvocations")
            .or_else(|| message.object("content").list("toolInvocations"));
        for invocation in invocations.into_iter().flatten() {
            match invocation.as_object().map(ToolPart::of_invocation) {
                None => self.skipped.add("part:?"),
                Some(tool) if is_of_part(tool.id()) => self.skipped.add("repeated"),
                Some(tool) => self.read_tool_part(tool, turn),
            }
        }
        self.end_step();
    }

    /// Returns whether a part was read before: all members are equal, its time included.
    fn is_repeated(&mut self, kind: &str, part: Value) -> bool {
        let is_dated = part.get("createdAt").and_then(Value::as_number).is_some();
        is_dated && kind != "step-start" && !self.turns.add_part(part)
    }

    fn skip_part(&mut self, kind: &str, part: Value) {
        if kind == "tool-approval-request"
            && let (Some(request), Some(call)) = (part.name("approvalId"), part.name("toolCallId"))
        {
            self.turns.ask(request, call);
        }
        self.skipped.add(format!("part:{kind}"));
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

    pub fn read_user(&mut self, content: Option<Value>) {
        self.end_turn();
        let texts = self.read_user_parts(content);
        self.say_human(&texts);
    }

    /// Reads the parts of a user message that are no text, and returns the texts.
    pub fn read_user_parts(&mut self, content: Option<Value>) -> Vec<String> {
        let mut texts = Vec::new();
        for (kind, part) in parts(content) {
            if !is_text_type(kind) {
                self.read_result_part(kind, part);
            } else if self.is_repeated(kind, part) {
                self.skipped.add("repeated");
            } else {
                texts.push(text_of_part(part).unwrap_or_default());
            }
        }
        texts
    }

    /// Reads the result of a tool. `role` is the role of the message if it is the tool's name.
    fn read_tool(&mut self, message: Value, role: Option<&str>) {
        let content = message.get("content");
        if content.is_some_and(is_function_call) {
            return self.skipped.add("tool_definition");
        }
        let document = content.and_then(Value::as_str).and_then(calls_in_text);
        let calls = match &document {
            Some(document) => document.root().as_array(),
            // Langfuse parses text that is JSON.
            None => content
                .and_then(Value::as_array)
                .filter(|calls| !calls.is_empty() && calls.iter().all(is_function_call)),
        };
        if calls.is_some() {
            let turn = self.next_turn();
            return self.call_all(calls, turn);
        }
        let parts = parts(self::content(message));
        if parts.clone().any(|(kind, _)| is_result_type(kind) || kind == RESPONSE) {
            return parts.for_each(|(kind, part)| self.read_result_part(kind, part));
        }
        let value = message.first(&["content", "parts", "text"]);
        let output = text_of(value, &mut self.skipped);
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

    pub fn read_result_part(&mut self, kind: &str, part: Value) {
        if self.is_repeated(kind, part) {
            self.skipped.add("repeated");
        } else if is_result_type(kind) {
            self.result(part, kind);
        } else if kind == RESPONSE && part.flag("approved") == Some(false) {
            let id = part.name("approvalId").and_then(|request| self.turns.asked(request));
            let (id, text) = (id.cloned(), part.text("reason").unwrap_or_default().into());
            if let Some(id) = &id {
                self.turns.deny(id);
            }
            self.events.push(Event::Result(ToolResult { text, failed: true, id, name: None }));
        } else {
            self.skip_part(kind, part);
        }
    }

    pub(super) fn result(&mut self, part: Value, kind: &str) {
        let result = result_of_part(part, kind, &mut self.skipped);
        if let Some(id) = result.id.as_ref().filter(|_| result.failed)
            && part.first(&OUTPUTS).is_some_and(is_denial)
            && !self.turns.deny(id)
        {
            self.skipped.add("repeated");
        } else {
            self.events.push(Event::Result(result));
        }
    }
}

fn flag_of_message(message: Value) -> Option<bool> {
    flag(message)
        .or_else(|| message.flag("error"))
        .or_else(|| message.flag("tool_call_error"))
        .or_else(|| message.object("error").map(|_| true))
        .or_else(|| flag(message.object("content")?))
}

/// Returns the calls that a message has besides its parts.
fn calls(message: Option<Value<'_>>) -> Vec<Value<'_>> {
    let additional = message.object("additional_kwargs").list("tool_calls");
    let lists = [message.list("tool_calls"), additional];
    let list = lists.into_iter().flatten().find(|calls| !calls.is_empty());
    let call = message.member("function_call").filter(|_| list.is_none());
    list.into_iter().flatten().chain(call).collect()
}

pub fn content(message: Value<'_>) -> Option<Value<'_>> {
    message.first(&["parts", "content", "text"])
}

/// Returns the parts of a content with their types. A string is one text part, and an empty one none.
pub fn parts<'d>(
    mut content: Option<Value<'d>>,
) -> impl Iterator<Item = (&'d str, Value<'d>)> + Clone {
    while content.list("parts").is_some() {
        content = content.member("parts");
    }
    let array = content.and_then(Value::as_array);
    let one = content.filter(|_| array.is_none());
    array.into_iter().flatten().chain(one).filter_map(typed)
}

/// Returns whether a value is an object that is a part of a known shape.
pub fn is_typed(part: Value) -> bool {
    part.is_object() && typed(part).is_some_and(|(kind, _)| kind != "?")
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
