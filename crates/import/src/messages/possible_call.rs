//! Parts of unknown types that may be calls.

use crate::json::{Members, Value};

const NAMES: [&str; 5] = ["name", "tool", "toolName", "tool_name", "function_name"];
const INPUTS: [&str; 5] = ["input", "args", "arguments", "parameters", "params"];

/// Types of parts that are no calls, though their names or members are like those of calls.
const OTHERS: [&str; 5] = [
    "mcp_list_tools", "mcp_approval_request", "tool-approval-request", "tool_reference",
    "additional_tools",
];

/// Returns whether a part may be a call by its type.
pub fn has_call_type(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    (kind.contains("call") || kind.contains("tool")) && !is_other(&kind)
}

/// Returns whether a part of the assistant may be a call by its members.
pub fn has_call_members(kind: &str, part: Value) -> bool {
    let is_call = |part: Value| {
        let is_named = part.first_name(&NAMES).is_some() || part.object("function").is_some();
        is_named && INPUTS.iter().any(|name| part.has(name))
    };
    let is_untyped = kind == "?";
    !is_other(&kind.to_ascii_lowercase())
        && (is_call(part) || (is_untyped && part.members().any(|(_, member)| is_call(member))))
}

/// Returns whether parts of a type, in lower case, are results or others that are no calls.
fn is_other(kind: &str) -> bool {
    ["output", "result", "response"].iter().any(|end| kind.ends_with(end)) || OTHERS.contains(&kind)
}
