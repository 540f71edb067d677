//! Parts with a tool call and its outcome, as the AI SDK and Mastra keep them for users.

use crate::{
    events::{Call, CallInput, Run, Turn},
    json::{Members, Value},
    results::{Output, flag, text_of},
};

#[derive(Clone, Copy)]
pub struct ToolPart<'d> {
    name: Option<&'d str>,
    fields: Value<'d>,
    /// Whether the provider ran the tool while the model was answering.
    is_of_provider: bool,
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
}

impl Run {
    pub(super) fn read_tool_part(&mut self, tool: ToolPart, turn: Turn) {
        let ToolPart { name, fields, is_of_provider } = tool;
        let state = fields.text("state").unwrap_or_default();
        // The model never finished the call.
        if ["partial-call", "input-streaming"].contains(&state) {
            return self.skipped.add("partial_call");
        }
        let input = CallInput::recorded(fields.first(&["input", "args", "rawInput"]));
        let call = Call::new(name, input, tool.id(), turn);
        let approval = fields.object("approval");
        let is_denied = state == "output-denied" || approval.flag("approved") == Some(false);
        let failure = |text: Option<&str>| {
            Output { text: text.unwrap_or_default().into(), failed: Some(true) }.into_result(None)
        };
        let result = match state {
            _ if is_denied => Some(failure(approval.text("reason"))),
            "output-error" => Some(failure(fields.text("errorText"))),
            "result" | "output-available" => {
                let value = fields.first(&["output", "result"]);
                Some(text_of(value, &mut self.skipped).into_result(flag(fields)))
            }
            _ => None,
        };
        let result = result.map(|result| call.answer(result));
        self.call(call);
        let results = if is_of_provider { &mut self.events } else { &mut self.turns.results };
        results.extend(result);
        if let Some(id) = tool.id().filter(|_| is_denied) {
            self.turns.deny(id);
        }
    }
}
