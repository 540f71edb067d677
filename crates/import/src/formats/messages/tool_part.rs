//! Parts with a tool call and its outcome, as the AI SDK and Mastra keep them for users.

use crate::{
    events::{Call, CallInput, Skipped, ToolResult, Turn},
    json::{Members, Value},
    results::{Output, flag, text_of},
};

#[derive(Clone, Copy)]
pub struct ToolPart<'d> {
    name: Option<&'d str>,
    fields: Value<'d>,
    /// Whether the provider ran the tool while the model was answering.
    pub is_of_provider: bool,
}

impl<'d> ToolPart<'d> {
    /// Returns the call in a part of this type; `None` if there is none with a state.
    pub fn of(kind: &'d str, part: Value<'d>) -> Option<Self> {
        let is_of_provider = part.flag("providerExecuted") == Some(true);
        let name = if kind == "dynamic-tool" { None } else { Some(kind.strip_prefix("tool-")?) };
        if name == Some("invocation")
            && let Some(invocation) = part.object("toolInvocation")
        {
            let tool = Self::of_invocation(invocation);
            return Some(Self { is_of_provider: is_of_provider || tool.is_of_provider, ..tool });
        }
        part.text("toolCallId").and(part.text("state"))?;
        Some(Self { name: name.or_else(|| part.name("toolName")), fields: part, is_of_provider })
    }

    /// Returns the call in an invocation of the AI SDK 4.
    pub fn of_invocation(fields: Value<'d>) -> Self {
        let is_of_provider = fields.flag("providerExecuted") == Some(true);
        Self { name: fields.name("toolName"), fields, is_of_provider }
    }

    pub fn id(self) -> Option<&'d str> {
        self.fields.name("toolCallId")
    }

    fn state(self) -> &'d str {
        self.fields.text("state").unwrap_or_default()
    }

    /// Returns whether the model never finished the call.
    pub fn is_partial(self) -> bool {
        ["partial-call", "input-streaming"].contains(&self.state())
    }

    pub fn is_denied(self) -> bool {
        self.state() == "output-denied"
            || self.fields.object("approval").flag("approved") == Some(false)
    }

    pub fn call(self, turn: Turn) -> Call {
        let input = self.fields.first(&["input", "args", "rawInput"]);
        Call::new(self.name, CallInput::recorded(input), self.id(), turn)
    }

    /// Returns the result, with neither id nor name; `None` if there is none yet.
    pub fn result(self, skipped: &mut Skipped) -> Option<ToolResult> {
        let failure = |text: Option<&str>| {
            Output { text: text.unwrap_or_default().into(), failed: Some(true) }.into_result(None)
        };
        if self.is_denied() {
            return Some(failure(self.fields.object("approval").text("reason")));
        }
        match self.state() {
            "output-error" => Some(failure(self.fields.text("errorText"))),
            "result" | "output-available" => {
                let value = self.fields.first(&["output", "result"]);
                Some(text_of(value, skipped).into_result(flag(self.fields)))
            }
            _ => None,
        }
    }
}
