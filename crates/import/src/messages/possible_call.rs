//! Parts of unknown types that may be calls.

use crate::{
    json::{Members, Value},
    part::Part,
};

/// Members of inputs that only these may have.
const INPUTS: [&str; 2] = ["parameters", "params"];

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
        let is_named = Part(part).name().or_else(|| part.name("tool")).is_some();
        let has_input = || Part(part).has_input() || INPUTS.iter().any(|name| part.has(name));
        (is_named || part.object("function").is_some()) && has_input()
    };
    let is_untyped = kind == "?";
    !is_other(&kind.to_ascii_lowercase())
        && (is_call(part) || (is_untyped && part.members().any(|(_, member)| is_call(member))))
}

/// Returns whether parts of a type, in lower case, are results or others that are no calls.
fn is_other(kind: &str) -> bool {
    ["output", "result", "response"].iter().any(|end| kind.ends_with(end)) || OTHERS.contains(&kind)
}
