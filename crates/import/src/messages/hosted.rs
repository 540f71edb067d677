//! Results of tools that run on the servers of Anthropic and OpenAI.

use super::part_type::typed;
use crate::{
    call::{Call, ToolResult},
    failure::{flag, has_failed},
    json::{Members, Value},
    part::{self, OF_TOOL},
    skipped::Skipped,
    text::Output,
};

/// Returns the output of a tool of Anthropic; `None` if it is text, or not of such a tool.
pub fn output(kind: &str, part: Value) -> Option<Output> {
    if !kind.ends_with(OF_TOOL) || kind == "mcp_tool_result" {
        return None;
    }
    let content = part.get("content")?;
    let is_text = |value: Value| {
        typed(value).is_some_and(|(kind, _)| part::Kind::of(kind) == part::Kind::Text)
    };
    match content.as_array() {
        Some(parts) if parts.is_empty() || parts.iter().any(is_text) => return None,
        None if !content.is_object() => return None,
        _ => {}
    }
    let is_error = content.name("error_code").is_some()
        || has_failed(content.get("return_code")) == Some(true);
    // What only the server can read is no text.
    let text = content.canonical_without(Some("encrypted_"));
    Some(Output { text, failed: flag(content).or(Some(is_error)) })
}

/// Returns whether a command of a shell was cut off or failed.
pub fn has_failed_in_shell(output: Value) -> bool {
    output.elements("output").filter_map(|command| command.object("outcome")).any(|outcome| {
        outcome.text("type") == Some("timeout")
            || has_failed(outcome.get("exit_code")) == Some(true)
    })
}

/// Returns the result that an item with a call has besides; `None` if it has none.
pub fn result(item: Value, kind: &str, call: &Call, skipped: &mut Skipped) -> Option<ToolResult> {
    let is_search = kind == "file_search_call";
    let (outputs, member) = match kind {
        "code_interpreter_call" => (item.list("outputs")?, "logs"),
        _ if is_search => (item.list("results")?, "text"),
        _ => return None,
    };
    let mut texts = Vec::new();
    for output in outputs {
        match output.text(member) {
            Some(text) => texts.push(text),
            None if is_search => {}
            None => skipped.add_part(output.text("type").unwrap_or("?")),
        }
    }
    let output = Output { text: texts.join("\n"), failed: None };
    Some(call.answer(output.into_result(is_search.then_some(false))))
}
