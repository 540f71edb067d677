//! The calls, results and texts in the parts of messages.

use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    failure::{flag, has_failed},
    json::{Array, BLANK, Document, Members, Value, is_blank},
    part::{Kind, OF_SERVERS, Part, typed},
    skipped::Skipped,
    text::{Output, of_tool, text_of, text_of_part, text_of_parts},
};

pub fn call_of_part(part: Value, turn: Turn) -> Call {
    let part = Part(part);
    Call::new(part.name(), CallInput::recorded(part.input()), part.id(), turn)
}

pub fn result_of_part(part: Value, kind: &str, skipped: &mut Skipped) -> ToolResult {
    let (value, has_parts) = Part(part).output();
    let is_one_part =
        ["function_call_result", "computer_call_result", "computer_call_output"].contains(&kind);
    let output = match value {
        Some(content) if part.member("content").is_some() && is_of_server(kind, content) => {
            let is_error = content.name("error_code").is_some()
                || has_failed(content.get("return_code")) == Some(true);
            // What only the server can read is no text.
            let text = content.canonical_without(Some("encrypted_"));
            Output { text, failed: flag(content).or(Some(is_error)) }
        }
        Some(part) if is_one_part && part.text("type").is_some() => {
            let text = text_of_parts(part.alone(), skipped).unwrap_or_default();
            Output { text, failed: flag(part) }
        }
        value if has_parts => text_of(value, skipped),
        value => value.map(|value| of_tool(value, skipped)).unwrap_or_default(),
    };
    let is_shell = kind == "shell_call_output";
    let has_status = is_shell || kind == "apply_patch_call_output";
    let is_cut = |command: Value| {
        let outcome = command.object("outcome");
        outcome.text("type") == Some("timeout")
            || has_failed(outcome.get("exit_code")) == Some(true)
    };
    let is_code = kind == "code_execution_result";
    let has_failed = kind == "tool-error"
        || (is_code && part.text("outcome").is_some_and(|outcome| outcome != "OUTCOME_OK"))
        || (has_status && part.text("status") == Some("failed"))
        || (is_shell && part.elements("output").any(is_cut));
    let flag = flag(part).or(has_failed.then_some(true)).or(output.failed);
    // Anthropic's results are judged by their flag alone.
    let result = output.into_result(flag.or((kind == "tool_result").then_some(false)));
    let [id, name] = [Part(part).id(), Part(part).name()].map(|text| text.map(Into::into));
    ToolResult { id, name, ..result }
}

/// Returns whether a content is that of a tool that ran on Anthropic's servers, and no text.
fn is_of_server(kind: &str, content: Value) -> bool {
    let is_text = |part| typed(part).is_some_and(|(kind, _)| Kind::of(kind) == Kind::Text);
    OF_SERVERS.contains(&kind)
        && kind != "mcp_tool_result"
        && match content.as_array() {
            Some(mut parts) => !parts.is_empty() && !parts.any(is_text),
            None => content.is_object(),
        }
}

/// Returns the calls that a message has besides its parts. Exports of tables have them as JSON in a string.
pub fn calls<'d>(message: Option<Value<'d>>) -> Option<Array<'d>> {
    let list = |of: Option<Value<'d>>| {
        let calls = of.first(&["tool_calls", "toolCalls"])?.decoded();
        let one = (!calls.as_str().is_some_and(is_blank)).then(|| calls.alone());
        calls.as_array().or(one).filter(|calls| !calls.is_empty())
    };
    let call = || message.member("function_call").map(Value::alone);
    list(message).or_else(|| list(message.object("additional_kwargs"))).or_else(call)
}

pub fn content(message: Value<'_>) -> Option<Value<'_>> {
    message
        .member("parts")
        .map(Value::decoded)
        .or_else(|| message.member("content").map(stored))
        // As in Microsoft.Extensions.AI.
        .or_else(|| message.get("contents").filter(|contents| contents.is_array()))
        .or_else(|| message.member("text"))
        .or_else(|| message.member("value").filter(|_| message.has("from")))
}

/// Returns the parts in a content that is a string with their JSON, as exports of tables have it.
pub fn stored(content: Value<'_>) -> Value<'_> {
    let Some(text) = content.as_str() else { return content };
    // As Hermes marks it.
    let is_marked = text.starts_with('\0');
    let begins = || text.trim_start_matches(BLANK).starts_with(['[', '{']);
    if !is_marked && (!begins() || !text.contains("\"type\"")) {
        return content;
    }
    let decoded = content.decoded();
    // A text that is JSON is a text: in a table there are calls or results of an id, or nobody could tell.
    let is_part = |part: Value| match part.text("type").map(Kind::of) {
        Some(Kind::Text | Kind::Reasoning) => text_of_part(part).is_some(),
        Some(Kind::Call) => Part(part).name().and(Part(part).input()).is_some(),
        Some(Kind::Result) => Part(part).id_of_call().is_some(),
        _ => false,
    };
    let is_of_tool = |part: Value| {
        let kind = part.text("type").map(Kind::of);
        part.text("type") != Some("function") && matches!(kind, Some(Kind::Call | Kind::Result))
    };
    let are_parts =
        || are_all(decoded, is_part) && decoded.as_array().into_iter().flatten().any(is_of_tool);
    if is_marked || are_parts() { decoded } else { content }
}

/// Returns whether a value is a call outside of a message.
pub fn is_call(value: Value) -> bool {
    let is_sdk = value.has("toolCallId") && value.has("toolName");
    !value.has("role") && (is_sdk || is_function_call(value))
}

/// Returns whether a value is a call as OpenAI has it in `tool_calls`.
pub fn is_function_call(value: Value) -> bool {
    value.text("type") == Some("function") && value.object("function").is_some()
}

/// Returns the calls of a text that is a JSON array of them, as Koog writes it.
pub fn calls_in_text(text: &str) -> Option<Document<'_>> {
    let is_array = text.starts_with('[');
    let document = is_array.then(|| Document::parse(text).ok())??;
    are_all(document.root(), is_call).then_some(document)
}

/// Returns whether a value is an array of such calls.
pub fn are_all(value: Value, is_call: impl Fn(Value) -> bool) -> bool {
    value.as_array().is_some_and(|mut calls| !calls.is_empty() && calls.all(is_call))
}
