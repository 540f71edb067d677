//! Items of the Responses API, and those that the OpenAI Agents SDK adds.

use super::conversation::call_of_part;
use crate::{
    events::{Call, CallInput, Event, Run, ToolResult},
    json::{Members, Value},
    results::{text_of, text_of_part, text_of_summary},
};

pub(super) const ITEMS: [&str; 26] = [
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

impl Run {
    pub(super) fn read_item(&mut self, item: Value, kind: &str) {
        let is_result = kind.ends_with("_output") || kind.ends_with("_result");
        if is_result {
            self.end_turn();
        }
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
            "mcp_call" | "hosted_tool_call" => {
                let turn = self.turn();
                let call = call_of_part(item, turn);
                let id = call.id.clone();
                self.call(call);
                let error = item.member("error").filter(|_| kind == "mcp_call");
                if let Some(output) = error.or_else(|| item.member("output")) {
                    let is_error = error.map(|_| true);
                    let result = text_of(output, &mut self.skipped).into_result(is_error);
                    self.events.push(Event::Result(ToolResult { id, ..result }));
                }
            }
            "computer_call_output" | "local_shell_call_output" | "image_generation_call" => {
                self.skipped.add(format!("part:{kind}"));
            }
            _ if is_result => self.result(item, kind),
            _ => {
                let Some(name) = kind.strip_suffix("_call") else {
                    return self.skipped.add(format!("part:{kind}"));
                };
                let turn = self.turn();
                let names = ["action", "actions", "queries", "query", "code", "operation"];
                let members = names.iter().filter_map(|name| Some((*name, item.member(name)?)));
                let input = CallInput::of(members);
                let id = item.first_name(&["call_id", "callId", "id"]);
                self.call(Call::new(Some(name), input, id, turn));
            }
        }
    }
}

fn content_text(item: Value) -> Option<String> {
    let content = item.member("content").filter(|content| !content.is_object())?;
    let parts = content.as_array().unwrap_or_else(|| content.alone());
    let texts: Vec<_> = parts.iter().filter_map(text_of_part).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
