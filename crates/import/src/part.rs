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

/// The types of results that Anthropic's servers give.
pub const OF_SERVERS: [&str; 8] = [
    "advisor_tool_result", "bash_code_execution_tool_result", "code_execution_tool_result",
    "mcp_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
    "web_fetch_tool_result", "web_search_tool_result",
];

/// The table of types.
impl Kind {
    pub fn of(name: &str) -> Self {
        match name {
            "text" | "input_text" | "output_text" | "summary_text" | "refusal" => Self::Text,
            "thinking" | "reasoning" | "thought" | "think" => Self::Reasoning,
            "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool-call" | "tool_call"
            | "toolCall" | "function_call" | "functionCall" | "custom_tool_call" | "mcp_call"
            | "server_tool_call" | "function" | "executable_code" => Self::Call,
            "tool_result"
            | "tool-result"
            | "tool-error"
            | "tool_call_response"
            | "toolResult"
            | "function_call_output"
            | "functionResult"
            | "custom_tool_call_output"
            | "code_execution_result"
            | "server_tool_call_response" => Self::Result,
            "tool-approval-response" => Self::Approval,
            "step-start" => Self::Step,
            name if OF_SERVERS.contains(&name) => Self::Result,
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

/// Types of parts that are no calls, though their members are like those of calls.
const NO_CALLS: [&str; 4] =
    ["additional_tools", "mcp_approval_request", "mcp_list_tools", "tool-approval-request"];

/// Returns whether a part of the assistant of an unknown type may be a call by its members.
pub fn has_call_members(kind: &str, part: Value) -> bool {
    let is_call = |part: Value| {
        let is_named = Part(part).name().or_else(|| part.name("tool")).is_some();
        let mut inputs = Part::INPUTS.into_iter().chain(["parameters", "params"]);
        (is_named || part.object("function").is_some()) && inputs.any(|name| part.has(name))
    };
    let has_call = || kind == "?" && part.members().any(|(_, member)| is_call(member));
    !NO_CALLS.contains(&kind) && !kind.ends_with("response") && (is_call(part) || has_call())
}

/// The types of parts of results that are no texts, and the members of which each has one.
const MEDIA: [&str; 18] = [
    "audio", "computer_screenshot", "document", "file", "file-data", "file-url", "image",
    "image-data", "image-url", "image_url", "input_audio", "input_file", "input_image", "media",
    "resource", "resource_link", "tool_reference", "video",
];
const CONTENTS: [&str; 15] = [
    "audio", "blob", "data", "document", "file", "file_data", "file_id", "file_url", "image",
    "image_url", "resource", "source", "tool_name", "uri", "url",
];

/// Returns whether a value is a part of a result that is no text.
pub fn is_media(kind: &str, part: Value) -> bool {
    // One with a type alone loses nothing.
    let has_content = || CONTENTS.iter().any(|name| part.has(name)) || part.members().count() == 1;
    MEDIA.contains(&kind) && has_content()
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
    let code =
        [("executable_code", "executableCode"), ("code_execution_result", "codeExecutionResult")];
    for (snake, camel) in code {
        if let Some(part) = part.object(snake).or_else(|| part.object(camel)) {
            return Some((snake, part));
        }
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
        let function = self.0.first(&["function", "custom"]);
        let own = self.0.first_name(&Self::NAMES);
        let code = || self.is_code().then_some("code_execution");
        own.or_else(|| function.name("name")).or_else(|| function?.as_str()).or_else(code)
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
        let custom = || self.0.object("custom").get("input");
        match self.0 {
            _ if has_input => self.0.first(&Self::INPUTS),
            code if self.is_code() => Some(code),
            _ => function().or_else(custom),
        }
    }

    /// Returns whether it is what Gemini runs.
    fn is_code(self) -> bool {
        self.0.text("language").and(self.0.text("code")).is_some()
    }

    /// Returns the id of the call in a message, whose `id` is its own.
    pub fn id_of_call(self) -> Option<&'d str> {
        self.0.first_name(&Self::IDS[..Self::IDS.len() - 1])
    }

    /// Returns the output of the tool, and whether it may have parts: others are data.
    pub fn output(self) -> (Option<Value<'d>>, bool) {
        let has = |name: &&&str| self.0.member(name).is_some();
        let name = Self::OUTPUTS.iter().find(has);
        let has_parts = matches!(name, Some(&("content" | "output")));
        (name.and_then(|name| self.0.member(name)), has_parts)
    }
}
