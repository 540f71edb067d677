//! The parts and items of messages: what each type is, and which members have what, in every dialect.

use crate::{
    failure::flag,
    json::{Members, Value},
};

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

/// Returns whether values of a type without a role are items of the Responses API, or of the OpenAI Agents SDK.
pub fn is_item(name: &str) -> bool {
    let calls = [
        "function", "custom_tool", "mcp", "web_search", "file_search", "computer", "local_shell",
        "code_interpreter", "image_generation", "tool_search", "hosted_tool", "shell",
        "apply_patch",
    ];
    let outputs = ["function", "custom_tool", "computer", "local_shell", "shell", "apply_patch"];
    let is_of =
        |names: &[&str], end| name.strip_suffix(end).is_some_and(|name| names.contains(&name));
    is_of(&calls, "_call")
        || is_of(&outputs, "_call_output")
        || is_of(&["function", "computer"], "_call_result")
        || matches!(
            name,
            "reasoning"
                | "mcp_list_tools"
                | "mcp_approval_request"
                | "mcp_approval_response"
                | "item_reference"
                | "tool_search_output"
        )
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
        let function = || self.0.member("function").get("arguments");
        if self.has_input() { self.0.first(&Self::INPUTS) } else { function() }
    }

    pub fn has_input(self) -> bool {
        Self::INPUTS.iter().any(|name| self.0.has(name))
    }

    /// Returns the output of the tool.
    pub fn output(self) -> Option<Value<'d>> {
        self.0.first(&Self::OUTPUTS)
    }

    /// Returns whether the tool failed, if it says so by a flag.
    pub fn flag(self) -> Option<bool> {
        flag(self.0)
    }
}
