//! Items of the Responses API, and those that the OpenAI Agents SDK adds.

use super::parts::call_of_part;
use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    events::Event,
    json::{Members, Value},
    skipped::Skipped,
    text::{text_of, text_of_part, text_of_summary},
};

pub const ITEMS: [&str; 26] = [
    "reasoning", "function_call", "function_call_output", "custom_tool_call",
    "custom_tool_call_output", "mcp_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response", "web_search_call", "file_search_call", "computer_call",
    "computer_call_output", "local_shell_call", "local_shell_call_output", "code_interpreter_call",
    "image_generation_call", "item_reference",
    // Those of the OpenAI Agents SDK.
    "function_call_result", "hosted_tool_call", "computer_call_result", "shell_call",
    "shell_call_output", "apply_patch_call", "apply_patch_call_output",
    // Its `role` makes it a message as well.
    "message",
];

/// Returns the events of an item that is no result. `turn` is called for one that the assistant made.
pub fn read(
    item: Value,
    kind: &str,
    turn: impl FnOnce() -> Turn,
    skipped: &mut Skipped,
) -> Vec<Event> {
    match kind {
        "reasoning" => {
            turn();
            let text = text_of_summary(item).or_else(|| content_text(item));
            if text.is_none() {
                skipped.add("empty_text");
            }
            text.map(Event::reasoned).into_iter().collect()
        }
        "function_call" | "custom_tool_call" => vec![Event::Call(call_of_part(item, turn()))],
        "mcp_call" | "hosted_tool_call" => {
            let call = call_of_part(item, turn());
            let id = call.id.clone();
            let error = item.member("error").filter(|_| kind == "mcp_call");
            let result = error.or_else(|| item.member("output")).map(|output| {
                let is_error = error.map(|_| true);
                let result = text_of(output, skipped).into_result(is_error);
                Event::Result(ToolResult { id, ..result })
            });
            [Event::Call(call)].into_iter().chain(result).collect()
        }
        kind => match kind.strip_suffix("_call") {
            Some(name) if kind != "image_generation_call" => {
                let names = ["action", "actions", "queries", "query", "code", "operation"];
                let members = names.iter().filter_map(|name| Some((*name, item.member(name)?)));
                let input = CallInput::of(members);
                let id = item.first_name(&["call_id", "callId", "id"]);
                vec![Event::Call(Call::new(Some(name), input, id, turn()))]
            }
            _ => {
                skipped.add(format!("part:{kind}"));
                Vec::new()
            }
        },
    }
}

fn content_text(item: Value) -> Option<String> {
    let content = item.member("content").filter(|content| !content.is_object())?;
    let parts = content.as_array().unwrap_or_else(|| content.alone());
    let texts: Vec<_> = parts.iter().filter_map(text_of_part).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
