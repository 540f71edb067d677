//! Reads messages of every dialect into the events of a conversation.

use std::{cell::LazyCell, collections::HashSet};

use super::{
    conversation::Conversation,
    message::{Message, Messages, Side, Sides, messages_of, unwrapped},
    parts::{
        are_all, call_of_part, calls, calls_in_text, content, is_function_call, result_of_part,
        stored,
    },
};
use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    chat,
    events::Event,
    failure::{flag, is_denial},
    harness::Harness,
    json::{self, Array, Document, Members, Value},
    part::{Kind, Part, each, has_call_members, is_item, parts, typed, with_state},
    text::{joined, of_tool, text_of, text_of_part},
};

impl Conversation {
    /// Returns a conversation of these messages alone.
    pub fn of(messages: &Messages) -> Self {
        let mut conversation = Self::default();
        messages.iter().for_each(|message| conversation.read(message));
        conversation
    }

    /// Reads what is recorded of a message.
    fn read(&mut self, message: Message) {
        match message {
            Message::Whole(None, message) => self.read_message(message),
            Message::Whole(role, message) => self.read_as(role, message.text("type"), message),
            Message::Content(Side::Input, content) => self.read_user(Some(stored(content))),
            Message::Content(Side::Output, content) => {
                self.end_turn();
                self.read_assistant(None, Some(stored(content)));
            }
            Message::Reasoning(text) => {
                self.events.extend(text.as_str().map(Event::reasoned));
            }
            Message::Calls(calls) => {
                self.end_turn();
                let turn = self.turn();
                calls.for_each(|call| self.call(call_of_part(call, turn)));
            }
        }
    }

    pub fn read_messages<'d>(&mut self, messages: impl IntoIterator<Item = Value<'d>>) {
        messages.into_iter().for_each(|message| self.read_message(message));
    }

    /// Reads the messages of both sides of a model call. Returns how many events are of its input.
    pub fn read_sides(&mut self, [input, output]: &Sides) -> usize {
        input.iter().flat_map(Messages::iter).for_each(|message| self.read(message));
        let count = self.events.len();
        self.answer_by(|own| {
            output.iter().flat_map(Messages::iter).for_each(|message| own.read(message));
        });
        count
    }

    /// Reads messages that are one answer of the assistant.
    pub fn read_answer<'d>(&mut self, messages: impl IntoIterator<Item = Value<'d>>) {
        self.answer_by(|own| own.read_messages(messages));
    }

    /// Reads one answer of the assistant.
    fn answer_by(&mut self, read: impl FnOnce(&mut Self)) {
        self.open = None;
        self.is_answer = true;
        read(self);
        self.is_answer = false;
        self.open = None;
    }

    /// Returns what a person says in a content of a program.
    pub fn asked(harness: Harness, content: Option<Value>) -> Option<String> {
        let mut conversation = Self { harness, ..Self::default() };
        conversation.read_user(content);
        conversation.first_human()
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
        if own_role.is_none() && (is_item(kind) || kind == "message") {
            return self.read_item(message, kind);
        }
        let is_answer =
            matches!(role, "assistant" | "ai" | "model" | "gpt" | "AIMessage" | "AIMessageChunk");
        if !is_answer || kind != "message" {
            self.end_turn();
        }
        match role {
            // As in Roo.
            _ if message.flag("isSummary") == Some(true) => self.skipped.add("compact_summary"),
            _ if is_answer => self.read_assistant(Some(message), content(message)),
            "system" | "developer" | "SystemMessage" => self.read_system(content(message)),
            "user" | "human" | "HumanMessage" => self.read_user(content(message)),
            "tool" | "function" | "toolResult" | "ToolMessage" | "FunctionMessage" => {
                self.read_tool(message, None);
            }
            "observation" if message.has("from") => self.read_tool(message, None),
            "function_call" if message.has("from") => {
                let turn = self.turn();
                for call in each(message.member("value").map(Value::decoded)) {
                    match call.name("name") {
                        Some(_) => self.call(call_of_part(call, turn)),
                        None => self.skipped.add("malformed"),
                    }
                }
            }
            role if self.seen.is_tool(role) => self.read_tool(message, Some(role)),
            role => {
                if role.starts_with('_') {
                    self.harness = Harness::Kimi;
                }
                if role == "_system_prompt" {
                    self.instruct(content(message));
                }
                self.skipped.add(format!("role:{role}"));
            }
        }
    }

    pub fn read_system(&mut self, content: Option<Value>) {
        self.skipped.add("system");
        self.tell_by(content);
        self.instruct(content);
    }

    /// Adds what a request to a model has beside the messages, if it is kept.
    pub fn read_given(&mut self, request: Value) {
        if self.given.is_kept {
            self.instruct(request.first(&chat::SYSTEM).map(Value::decoded));
            self.given.add_tools(request);
        }
    }

    /// Reads a call with its state and its outcome in a part, whose type may name the tool.
    fn read_with_state(&mut self, part: Value, fields: Value, name: Option<&str>, turn: Turn) {
        let state = fields.text("state").unwrap_or_default();
        if ["partial-call", "input-streaming"].contains(&state) {
            return self.skipped.add("partial_call");
        }
        let tool = Part(fields);
        let name = name.or_else(|| tool.name());
        let call = Call::new(name, CallInput::recorded(tool.input()), tool.id(), turn);
        let approval = fields.object("approval");
        let refused = state == "output-denied" || approval.flag("approved") == Some(false);
        let error = if refused { approval.text("reason") } else { fields.text("errorText") };
        let result = match state {
            _ if refused || state == "output-error" => {
                let text = error.unwrap_or_default().into();
                ToolResult { text, failed: true, ..ToolResult::default() }
            }
            "result" | "output-available" => {
                let (output, _) = tool.output();
                let output = output.map(|output| of_tool(output, &mut self.skipped));
                output.unwrap_or_default().into_result(flag(fields))
            }
            _ => return self.call(call),
        };
        // Whether the provider ran the tool while the model was answering.
        let is_within = [part, fields].iter().any(|of| of.flag("providerExecuted") == Some(true));
        let result = ToolResult { refused, is_within, ..call.answer(result) };
        self.call(call);
        if let Some(id) = result.id.as_ref().filter(|_| refused) {
            self.seen.deny(id);
        }
        let results = if is_within { &mut self.events } else { &mut self.results };
        results.push(Event::Result(result));
    }

    /// Reads the content of an answer that begins in a turn. Returns the turn in which it ends.
    pub fn read_content(&mut self, content: Option<Value>, turn: Turn) -> Turn {
        self.open = Some(turn);
        self.read_assistant(None, content);
        self.turn()
    }

    /// Reads an answer with this content, which the message has besides other members.
    pub fn read_assistant(&mut self, message: Option<Value>, content: Option<Value>) {
        let mut turn = self.turn();
        let details = || joined(message.elements("reasoning_details").filter_map(text_of_part));
        let reasoning = message
            .first_name(&["reasoning_content", "reasoning", "thinking", "tool_plan"])
            .or_else(|| message.object("additional_kwargs").name("reasoning_content"))
            .map(Into::into)
            .or_else(details);
        if let Some(reasoning) = reasoning {
            let mut parts = parts(content).chain(message.elements("parts").filter_map(typed));
            if parts.any(|(kind, _)| Kind::of(kind) == Kind::Reasoning) {
                self.skipped.add("repeated");
            } else {
                self.events.push(Event::reasoned(reasoning));
            }
        }
        let begin = self.events.len();
        // As in Harmony, the format of gpt-oss.
        let recipient = message.name("recipient").filter(|to| !["all", "user"].contains(to));
        if let (Some(tool), Some(_)) = (recipient, message.get("channel")) {
            let texts = parts(content).filter_map(|(_, part)| text_of_part(part));
            let input = CallInput::of_json(&joined(texts).unwrap_or_default());
            return self.call(Call::new(Some(tool), input, None, turn));
        }
        let mut of_parts = HashSet::new();
        let has_steps = LazyCell::new(|| parts(content).any(|(kind, _)| kind == "step-start"));
        for (kind, part) in parts(content) {
            let call = with_state(kind, part);
            of_parts.extend(call.and_then(|(call, _)| Part(call).id()).map(str::to_owned));
            if self.is_repeated(kind, part) {
                continue;
            }
            match (Kind::of(kind), call) {
                (Kind::Step, _) => {
                    self.end_step();
                    turn = self.next_turn();
                    self.open = Some(turn);
                }
                (_, Some((call, name))) => self.read_with_state(part, call, name, turn),
                (Kind::Text, _) => {
                    // Where no step begins, what follows a result is said after it.
                    if !self.results.is_empty() && !*has_steps {
                        self.end_step();
                    }
                    self.say(text_of_part(part).unwrap_or_default(), turn);
                }
                (Kind::Reasoning, _) => {
                    self.events.push(Event::reasoned(text_of_part(part).unwrap_or_default()));
                }
                (Kind::Call, _) => {
                    let call = call_of_part(part, turn);
                    // As Inspect has the result of a tool of the provider.
                    let value = part.first(&["error", "result"]).filter(|_| part.has("tool_type"));
                    let result = value.map(|value| {
                        let output = text_of(value, &mut self.skipped);
                        let result = output.into_result(Some(part.member("error").is_some()));
                        Event::Result(ToolResult { is_within: true, ..call.answer(result) })
                    });
                    self.call(call);
                    self.events.extend(result);
                }
                (Kind::Result, _) => self.read_result(part, kind),
                (Kind::Approval | Kind::Other, _) => self.skip_unknown(kind, part),
            }
        }
        let spoken = message.object("audio").name("transcript");
        for text in message.name("refusal").into_iter().chain(spoken) {
            self.events.push(Event::said(text));
        }
        let calls = calls(message);
        // LangChain keeps calls with invalid JSON in a separate list, or with the others in `additional_kwargs`.
        if calls.is_none() || message.elements("tool_calls").next().is_some() {
            let invalid = message.elements("invalid_tool_calls").count();
            self.skipped.add_many("part:invalid_tool_call", invalid as u64);
        }
        let events = self.events[begin..].iter();
        of_parts.extend(events.filter_map(|event| event.call()?.id.clone()));
        let invocations = message
            .member("toolInvocations")
            .or_else(|| message.object("content").member("toolInvocations"))
            .or_else(|| content.member("toolInvocations"))
            .and_then(|invocations| invocations.decoded().as_array());
        let calls = calls.into_iter().flatten().map(|call| (call.decoded(), false));
        let invocations = invocations.into_iter().flatten().map(|call| (call, true));
        for (call, has_state) in calls.chain(invocations) {
            let is_of_part = Part(call).id().is_some_and(|id| of_parts.contains(id));
            match (call.is_object(), has_state) {
                (false, false) => self.skipped.add("malformed"),
                (false, true) => self.skipped.add("part:?"),
                _ if is_of_part => self.skipped.add("repeated"),
                (true, false) => self.call(call_of_part(call, turn)),
                (true, true) => self.read_with_state(call, call, None, turn),
            }
        }
        self.end_step();
    }

    /// Returns whether a part was read before, and counts it if so: all members are equal, its time included.
    fn is_repeated(&mut self, kind: &str, part: Value) -> bool {
        let is_dated = part.get("createdAt").and_then(Value::as_number).is_some();
        let is_repeated = is_dated && kind != "step-start" && !self.seen.add_part(part);
        self.skipped.add_many("repeated", is_repeated.into());
        is_repeated
    }

    fn skip_part(&mut self, kind: &str, part: Value) {
        if kind == "tool-approval-request"
            && let (Some(request), Some(call)) = (part.name("approvalId"), part.name("toolCallId"))
        {
            self.seen.ask(request, call);
        }
        self.skipped.add_part(kind);
    }

    /// Skips a part of the assistant, or an item.
    pub fn skip_unknown(&mut self, kind: &str, part: Value) {
        if has_call_members(kind, part) {
            self.possible_calls.add_part(kind);
        }
        self.skip_part(kind, part);
    }

    /// Reads a text of the assistant, which may be the JSON of its calls.
    fn say(&mut self, text: String, turn: Turn) {
        match calls_in_text(&text) {
            Some(calls) => self.call_each(calls.root(), turn),
            None => self.events.push(Event::said(text)),
        }
    }

    fn call_each(&mut self, calls: Value, turn: Turn) {
        each(Some(calls)).for_each(|call| self.call(call_of_part(call, turn)));
    }

    pub fn read_user(&mut self, content: Option<Value>) {
        self.read_user_by(content, Self::read_result_part);
    }

    /// Reads a message of the user: the parts that are no texts by `read`, then the texts.
    pub fn read_user_by(
        &mut self,
        content: Option<Value>,
        mut read: impl FnMut(&mut Self, &str, Value),
    ) {
        self.end_turn();
        let mut texts = Vec::new();
        for (kind, part) in parts(content) {
            if Kind::of(kind) != Kind::Text {
                read(self, kind, part);
            } else if !self.is_repeated(kind, part) {
                texts.push(text_of_part(part).unwrap_or_default());
            }
        }
        self.read_texts(texts);
    }

    /// Reads the result of a tool. `role` is the role of the message if it is the tool's name.
    fn read_tool(&mut self, message: Value, role: Option<&str>) {
        let content = message.get("content");
        if message.text("status") == Some(chat::UNANSWERED) {
            return self.skipped.add(chat::UNANSWERED);
        }
        if content.is_some_and(is_function_call) {
            return self.skipped.add("tool_definition");
        }
        let document = content.and_then(Value::as_str).and_then(calls_in_text);
        // Langfuse parses text that is JSON.
        let parsed = || content.filter(|content| are_all(*content, is_function_call));
        if let Some(calls) = document.as_ref().map(Document::root).or_else(parsed) {
            let turn = self.next_turn();
            return self.call_each(calls, turn);
        }
        let parts = parts(self::content(message));
        let has_results = |(kind, _)| matches!(Kind::of(kind), Kind::Result | Kind::Approval);
        if parts.clone().any(has_results) {
            return parts.for_each(|(kind, part)| self.read_result_part(kind, part));
        }
        let value = message.first(&["content", "parts", "text", "value"]);
        let output = text_of(value.map(stored), &mut self.skipped);
        // As in SWE-agent.
        let id = message.list("tool_call_ids").and_then(Array::first).and_then(Value::as_str);
        let id = id.or_else(|| Part(message).id_of_call()).filter(|id| !json::is_blank(id));
        let name = Part(message).name().or(role);
        let result = output.into_result(flag_of_message(message));
        let (id, name) = (id.map(Into::into), name.map(Into::into));
        self.add_result(ToolResult { id, name, ..result });
    }

    pub fn read_result_part(&mut self, kind: &str, part: Value) {
        match Kind::of(kind) {
            _ if self.is_repeated(kind, part) => {}
            Kind::Result => self.read_result(part, kind),
            Kind::Approval if part.flag("approved") == Some(false) => {
                let id = part.name("approvalId").and_then(|request| self.seen.asked(request));
                let (id, text) = (id.cloned(), part.text("reason").unwrap_or_default().into());
                if let Some(id) = &id {
                    self.seen.deny(id);
                }
                let result =
                    ToolResult { text, failed: true, refused: true, id, ..ToolResult::default() };
                self.events.push(Event::Result(result));
            }
            _ => self.skip_part(kind, part),
        }
    }

    pub(super) fn read_result(&mut self, part: Value, kind: &str) {
        let mut result = result_of_part(part, kind, &mut self.skipped);
        result.refused = result.failed && Part(part).output().0.is_some_and(is_denial);
        if let Some(id) = result.id.as_ref().filter(|_| result.refused)
            && !self.seen.deny(id)
        {
            self.skipped.add("repeated");
        } else {
            self.add_result(result);
        }
    }
}

/// Returns the text of a person in a value that was recorded as input: itself, the first human message, or the prompt.
pub fn human(value: Value) -> Option<String> {
    let value = value.decoded();
    if value.is_string() {
        return Conversation::asked(Harness::Unknown, Some(value));
    }
    if let Some(messages) = messages_of(value, Side::Input) {
        return Conversation::of(&messages).first_human();
    }
    let names = ["prompt", "input", "question", "query", "message", "text", "task"];
    value.first_name(&names).map(Into::into)
}

fn flag_of_message(message: Value) -> Option<bool> {
    flag(message)
        .or_else(|| ["error", "tool_call_error"].iter().find_map(|name| message.flag(name)))
        .or_else(|| message.object("error").map(|_| true))
        .or_else(|| flag(message.object("content")?))
}
