//! The parts and items of messages: what each type is, and which members have what, in every dialect.

use crate::json::{Members, Value};

/// What parts of a type are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Reasoning,
    Call,
    Result,
    /// What a person answers when asked whether a call may run.
    Approval,
    /// The beginning of a step.
    Step,
    /// Nothing that is read: it is counted by its type.
    Other,
}

/// The end of the types of results that Anthropic's servers give.
pub const OF_TOOL: &str = "_tool_result";

/// The table of types.
impl Kind {
    pub fn of(name: &str) -> Self {
        match name {
            "text" | "input_text" | "output_text" | "summary_text" | "refusal" => Self::Text,
            "thinking" | "reasoning" | "thought" | "think" => Self::Reasoning,
            "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool-call" | "tool_call"
            | "toolCall" | "function_call" | "functionCall" | "custom_tool_call" | "mcp_call"
            | "server_tool_call" | "function" => Self::Call,
            "tool_result"
            | "tool-result"
            | "tool-error"
            | "tool_call_response"
            | "toolResult"
            | "function_call_output"
            | "functionResult"
            | "custom_tool_call_output"
            | "server_tool_call_response" => Self::Result,
            "tool-approval-response" => Self::Approval,
            "step-start" => Self::Step,
            name if name.ends_with(OF_TOOL) => Self::Result,
            _ => Self::Other,
        }
    }
}

pub fn is_result_type(kind: &str) -> bool {
    Kind::of(kind) == Kind::Result
}

/// The types of items of the Responses API, and of those of the OpenAI Agents SDK, which have no role.
const ITEMS: [&str; 29] = [
    "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "computer_call",
    "computer_call_output", "computer_call_result", "custom_tool_call", "custom_tool_call_output",
    "file_search_call", "function_call", "function_call_output", "function_call_result",
    "hosted_tool_call", "image_generation_call", "item_reference", "local_shell_call",
    "local_shell_call_output", "mcp_approval_request", "mcp_approval_response", "mcp_call",
    "mcp_list_tools", "program", "program_output", "reasoning", "shell_call", "shell_call_output",
    "tool_search_call", "tool_search_output", "web_search_call",
];

pub fn is_item(kind: &str) -> bool {
    ITEMS.contains(&kind)
}

/// Types of parts that are no calls, though their names or members are like those of calls.
const NO_CALLS: [&str; 5] = [
    "mcp_list_tools", "mcp_approval_request", "tool-approval-request", "tool_reference",
    "additional_tools",
];

/// Returns whether parts of an unknown type, in lower case, may be calls at all.
fn may_be_call(kind: &str) -> bool {
    !["output", "result", "response"].iter().any(|end| kind.ends_with(end))
        && !NO_CALLS.contains(&kind)
}

/// Returns whether a part of an unknown type may be a call by its type.
pub fn has_call_type(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    (kind.contains("call") || kind.contains("tool")) && may_be_call(&kind)
}

/// Returns whether a part of the assistant of an unknown type may be a call by its members.
pub fn has_call_members(kind: &str, part: Value) -> bool {
    let is_call = |part: Value| {
        let is_named = Part(part).name().or_else(|| part.name("tool")).is_some();
        let mut inputs = Part::INPUTS.into_iter().chain(["parameters", "params"]);
        (is_named || part.object("function").is_some()) && inputs.any(|name| part.has(name))
    };
    let has_call = || kind == "?" && part.members().any(|(_, member)| is_call(member));
    may_be_call(&kind.to_ascii_lowercase()) && (is_call(part) || has_call())
}

/// Returns the parts of a content with their types. A string is one text part, and an empty one none.
pub fn parts<'d>(
    mut content: Option<Value<'d>>,
) -> impl Iterator<Item = (&'d str, Value<'d>)> + Clone {
    while content.list("parts").is_some() {
        content = content.member("parts");
    }
    each(content).filter_map(typed)
}

/// Returns the elements of an array, or else the value alone.
pub fn each<'d>(value: Option<Value<'d>>) -> impl Iterator<Item = Value<'d>> + Clone {
    value.map(|value| value.as_array().unwrap_or(value.alone())).into_iter().flatten()
}

/// Returns whether a value is an object that is a part of a known shape.
pub fn is_typed(part: Value) -> bool {
    part.is_object() && typed(part).is_some_and(|(kind, _)| kind != "?")
}

/// The members that tell parts of Bedrock's Converse API apart.
const CONVERSE: [&str; 11] = [
    "toolUse", "toolResult", "reasoningContent", "citationsContent", "image", "document", "video",
    "audio", "guardContent", "cachePoint", "searchResult",
];

/// Returns a part with its type, or the call or result in it; with `?` if it has no type. Parts of Gemini and of
/// Bedrock's Converse API are told apart by their members.
pub fn typed(part: Value<'_>) -> Option<(&str, Value<'_>)> {
    if let Some(text) = part.as_str() {
        return (!text.is_empty()).then_some(("text", part));
    }
    if let Some(kind) = part.text("type").or_else(|| part.text("$type")) {
        return Some((kind, part));
    }
    if part.text("text").is_some() {
        return Some((if part.flag("thought") == Some(true) { "thought" } else { "text" }, part));
    }
    if let Some(call) = part.first(&["function_call", "functionCall"]) {
        return Some(("function_call", call));
    }
    if let Some(response) = part.first(&["function_response", "functionResponse"]) {
        return Some(("tool_call_response", response));
    }
    let member = CONVERSE.into_iter().find_map(|name| Some((name, part.object(name)?)));
    Some(match member {
        Some(("toolUse", call)) => ("tool_use", call),
        Some(("toolResult", result)) => ("toolResult", result),
        Some(("reasoningContent", _)) => ("reasoning", part),
        Some(("citationsContent", _)) => ("text", part),
        Some((name, _)) => (name, part),
        None => ("?", part),
    })
}

/// Returns a call with its state and its outcome, as the AI SDK and Mastra keep it for users, and the name that the type
/// of its part has; `None` if a part is no such call.
pub fn with_state<'d>(kind: &'d str, part: Value<'d>) -> Option<(Value<'d>, Option<&'d str>)> {
    let name = if kind == "dynamic-tool" { None } else { Some(kind.strip_prefix("tool-")?) };
    let invocation = part.object("toolInvocation").filter(|_| name == Some("invocation"));
    let has_state = part.text("toolCallId").and(part.text("state")).is_some();
    invocation.map(|call| (call, None)).or(has_state.then_some((part, name)))
}

/// The members of a part, an item or a message with a call or its result.
#[derive(Clone, Copy)]
pub struct Part<'d>(pub Value<'d>);

impl<'d> Part<'d> {
    const NAMES: [&'static str; 4] = ["name", "toolName", "tool_name", "function_name"];
    const IDS: [&'static str; 8] = [
        "tool_use_id", "toolUseID", "toolUseId", "call_id", "callId", "toolCallId", "tool_call_id",
        "id",
    ];
    const INPUTS: [&'static str; 4] = ["input", "args", "arguments", "rawInput"];
    const OUTPUTS: [&'static str; 6] =
        ["content", "output", "response", "result", "server_tool_call_response", "error"];

    /// Returns the name of the tool.
    pub fn name(self) -> Option<&'d str> {
        let function = self.0.member("function");
        let own = self.0.first_name(&Self::NAMES);
        own.or_else(|| function.name("name")).or_else(|| function?.as_str())
    }

    /// Returns the id of the call.
    pub fn id(self) -> Option<&'d str> {
        self.0.first_name(&Self::IDS)
    }

    /// Returns the input of the call, which may be null.
    pub fn input(self) -> Option<Value<'d>> {
        if let Some(input) = self.0.object("server_tool_call") {
            return Some(input);
        }
        let has_input = Self::INPUTS.iter().any(|name| self.0.has(name));
        let function = || self.0.member("function").get("arguments");
        if has_input { self.0.first(&Self::INPUTS) } else { function() }
    }

    /// Returns the output of the tool.
    pub fn output(self) -> Option<Value<'d>> {
        self.0.first(&Self::OUTPUTS)
    }
}
