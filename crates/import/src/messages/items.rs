//! Items of the Responses API, and those that the OpenAI Agents SDK adds.

use super::conversation::Conversation;
use crate::{
    call::{Call, CallInput, ToolResult, qualified},
    events::Event,
    json::{Members, Value},
    part::{Part, each},
    text::{Output, joined, text_of, text_of_part, text_of_summary},
};

const TOOL_SEARCH: &str = "tool_search";

/// The tools whose calls say which tool it is.
const NAMED: [&str; 4] = ["function", "custom_tool", "mcp", "hosted_tool"];

/// The members that are the input of a call without arguments.
const INPUTS: [&str; 7] =
    ["action", "actions", "queries", "query", "code", "operation", "revised_prompt"];

impl Conversation {
    pub(super) fn read_item(&mut self, item: Value, kind: &str) {
        match kind {
            "reasoning" => {
                self.turn();
                let content = item.member("content").filter(|content| !content.is_object());
                let of_content = || joined(each(content).filter_map(text_of_part));
                match text_of_summary(item).or_else(of_content) {
                    Some(text) => self.events.push(Event::reasoned(text)),
                    None => self.skipped.add("empty_text"),
                }
            }
            "tool_search_output" => {
                self.end_turn();
                let text = item.member("tools").map_or("[]".into(), Value::canonical);
                let (id, name) = (item.name("call_id").map(Into::into), Some(TOOL_SEARCH.into()));
                self.add_result(ToolResult { text, id, name, ..ToolResult::default() });
            }
            _ if kind.ends_with("_output") || kind.ends_with("_result") => {
                self.end_turn();
                self.read_result(item, kind);
            }
            _ => match kind.strip_suffix("_call").or((kind == "program").then_some(kind)) {
                Some(tool) => self.read_call_item(item, tool),
                None => self.skip_unknown(kind, item),
            },
        }
    }

    /// Reads a call of a tool, and the result that it has besides if the tool ran on a server.
    fn read_call_item(&mut self, item: Value, tool: &str) {
        let is_named = NAMED.contains(&tool);
        let name = if is_named { Part(item).name() } else { Some(tool) };
        // Without one, the ids of the items themselves would never match.
        let id = if tool == TOOL_SEARCH { item.name("call_id") } else { Part(item).id() };
        let members = INPUTS.iter().filter_map(|name| Some((*name, item.member(name)?)));
        let input = Part(item).input().map(|input| CallInput::recorded(Some(input)));
        let input = input.unwrap_or_else(|| CallInput::of(members));
        let mut call = Call::new(name, input, id, self.turn());
        if let Some(namespace) = item.name("namespace").filter(|_| is_named) {
            call.name = qualified(namespace, &call.name);
        }
        let output = match tool {
            "mcp" | "hosted_tool" => item.first(&["error", "output"]).map(|value| {
                let Output { text, failed } = text_of(value, &mut self.skipped);
                Output { text, failed: item.member("error").map(|_| true).or(failed) }
            }),
            "code_interpreter" => item.list("outputs").map(|outputs| {
                let others = outputs.filter(|output| output.text("logs").is_none());
                others.for_each(|output| self.skip_as_part(output));
                let text = joined(outputs.filter_map(|output| output.text("logs")));
                Output { text: text.unwrap_or_default(), failed: None }
            }),
            "file_search" => item.list("results").map(|results| {
                let text = joined(results.filter_map(|result| result.text("text")));
                Output { text: text.unwrap_or_default(), failed: Some(false) }
            }),
            "image_generation" if item.member("result").is_some() => {
                self.skipped.add("part:image");
                None
            }
            _ => None,
        };
        let result = output.map(|output| call.answer(output.into_result(None)));
        self.call(call);
        if let Some(result) = result {
            self.add_result(result);
        }
    }
}
