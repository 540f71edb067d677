//! Items of the Responses API, and those that the OpenAI Agents SDK adds.

use super::{hosted, parts::call_of_part};
use crate::{
    call::{Call, CallInput, ToolResult, Turn, qualified},
    events::Event,
    json::{Members, Value},
    part::Part,
    skipped::Skipped,
    text::{text_of, text_of_part, text_of_summary},
};

const TOOL_SEARCH: &str = "tool_search";

/// The members that are the input of a call without arguments.
const INPUTS: [&str; 7] =
    ["action", "actions", "queries", "query", "code", "operation", "revised_prompt"];

/// Returns the events of an item; `None` if it has none. `turn` is called for one that the assistant made.
pub fn read(
    item: Value,
    kind: &str,
    turn: impl FnOnce() -> Turn,
    skipped: &mut Skipped,
) -> Option<Vec<Event>> {
    Some(match kind {
        "reasoning" => {
            turn();
            let text = text_of_summary(item).or_else(|| content_text(item));
            if text.is_none() {
                skipped.add("empty_text");
            }
            text.map(Event::reasoned).into_iter().collect()
        }
        "function_call" | "custom_tool_call" => {
            let mut call = call_of_part(item, turn());
            if let Some(namespace) = item.name("namespace") {
                call.name = qualified(namespace, &call.name);
            }
            vec![Event::Call(call)]
        }
        "tool_search_call" => {
            let input = CallInput::recorded(item.get("arguments"));
            vec![Event::Call(Call::new(Some(TOOL_SEARCH), input, item.name("call_id"), turn()))]
        }
        "tool_search_output" => {
            let text = item.member("tools").map_or("[]".into(), Value::canonical);
            let (id, name) = (item.name("call_id").map(Into::into), Some(TOOL_SEARCH.into()));
            vec![Event::Result(ToolResult { text, id, name, ..ToolResult::default() })]
        }
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
        kind => {
            let name = kind.strip_suffix("_call")?;
            let members = INPUTS.iter().filter_map(|name| Some((*name, item.member(name)?)));
            let call = Call::new(Some(name), CallInput::of(members), Part(item).id(), turn());
            if name == "image_generation" && item.member("result").is_some() {
                skipped.add("part:image");
            }
            let result = hosted::result(item, kind, &call, skipped).map(Event::Result);
            [Event::Call(call)].into_iter().chain(result).collect()
        }
    })
}

fn content_text(item: Value) -> Option<String> {
    let content = item.member("content").filter(|content| !content.is_object())?;
    let parts = content.as_array().unwrap_or_else(|| content.alone());
    let texts: Vec<_> = parts.iter().filter_map(text_of_part).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
