//! The calls in the output of `cursor-agent --output-format stream-json`.

use crate::prelude::*;

/// Returns whether only this stream has a record; others of a session are like those of Claude Code.
pub(super) fn fits(record: Value, kind: Option<&str>) -> bool {
    let subtype = || record.text("subtype");
    match kind {
        Some("tool_call") => {
            subtype().and(record.name("call_id")).and(record.object("tool_call")).is_some()
        }
        Some("system") => {
            subtype() == Some("init") && record.has("apiKeySource") && !record.has("tools")
        }
        _ => false,
    }
}

/// Returns the members of a call, which have the name of the tool around them, and that name.
fn tool(call: Value<'_>) -> (Option<&str>, Value<'_>) {
    let named = call
        .members()
        .find_map(|(name, tool)| Some((name.strip_suffix("ToolCall")?, tool.as_object()?)));
    let function = || call.object("function").map(|function| (function.name("name"), function));
    named.map(|(name, tool)| (Some(name), tool)).or_else(function).unwrap_or((None, call))
}

pub(super) fn call(call: Value, id: Option<&str>, turn: Turn) -> Call {
    let (name, tool) = tool(call);
    let args = tool.first(&["args", "arguments"]);
    if name != Some("mcp") {
        return Call::new(name, CallInput::recorded(args), id, turn);
    }
    let server = args.first_name(&["serverIdentifier", "providerIdentifier"]);
    let names = ["mcp"].into_iter().chain(server).chain(args.name("toolName"));
    let name = names.collect::<Vec<_>>().join("__");
    Call::new(Some(&name), CallInput::recorded(args.member("args")), id, turn)
}

/// Returns the result of a call; `None` if there is none.
pub(super) fn result(call: Value, run: &mut Run) -> Option<ToolResult> {
    let result = tool(call).1.member("result").or_else(|| call.member("result"))?;
    let mut members = result.members();
    let (is_success, value) = match (members.next(), members.next()) {
        (Some((name, value)), None) => (name == "success", value),
        _ => (true, result),
    };
    let failed = !is_success || value.flag("isError") == Some(true);
    let flag = failed.then_some(true).or_else(|| has_failed(value.get("exitCode")));
    Some(output(Some(value), &mut run.skipped).into_result(flag))
}

/// Returns the output of a tool, such as the text of its streams.
pub fn output(value: Option<Value>, skipped: &mut Skipped) -> Output {
    let streams = ["stdout", "stderr"].map(|name| value.text(name));
    let names = ["interleavedOutput", "content", "errorMessage", "error", "message", "reason"];
    let text = match names.iter().find_map(|name| value.text(name)) {
        _ if value.text(names[0]).is_none() && streams.iter().any(Option::is_some) => {
            let said = streams.into_iter().flatten().filter(|text| !json::is_blank(text));
            said.collect::<Vec<_>>().join("\n")
        }
        Some(text) => text.into(),
        // As ProtoJSON has a result of MCP.
        None if value.elements("content").any(|part| part.object("text").is_some()) => {
            return text_of(value.get("content"), skipped);
        }
        None => match value.filter(|value| value.is_object()) {
            Some(object) => object.canonical(),
            None => return text_of(value, skipped),
        },
    };
    Output { text, failed: None }
}
