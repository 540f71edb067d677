//! Parts with a tool call and its outcome, as the AI SDK and Mastra keep them for users.

use crate::{
    call::{Call, CallInput, ToolResult, Turn},
    json::{Members, Value},
    part::Part,
    skipped::Skipped,
    text::{Output, text_of},
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
        Some(Self { name: name.or_else(|| Part(part).name()), fields: part, is_of_provider })
    }

    /// Returns the call in an invocation of the AI SDK 4.
    pub fn of_invocation(fields: Value<'d>) -> Self {
        let is_of_provider = fields.flag("providerExecuted") == Some(true);
        Self { name: Part(fields).name(), fields, is_of_provider }
    }

    pub fn id(self) -> Option<&'d str> {
        Part(self.fields).id()
    }

    /// Returns the call and its result; `None` if the model never finished it.
    pub fn read(self, turn: Turn, skipped: &mut Skipped) -> Option<(Call, Option<ToolResult>)> {
        let Self { name, fields, .. } = self;
        let state = fields.text("state").unwrap_or_default();
        if ["partial-call", "input-streaming"].contains(&state) {
            skipped.add("partial_call");
            return None;
        }
        let input = CallInput::recorded(Part(fields).input());
        let call = Call::new(name, input, self.id(), turn);
        let approval = fields.object("approval");
        let is_denied = state == "output-denied" || approval.flag("approved") == Some(false);
        let failure = |text: Option<&str>| {
            Output { text: text.unwrap_or_default().into(), failed: Some(true) }.into_result(None)
        };
        let result = match state {
            _ if is_denied => {
                Some(ToolResult { refused: true, ..failure(approval.text("reason")) })
            }
            "output-error" => Some(failure(fields.text("errorText"))),
            "result" | "output-available" => {
                let result = text_of(Part(fields).output(), skipped);
                Some(result.into_result(Part(fields).flag()))
            }
            _ => None,
        };
        let result = result.map(|result| call.answer(result));
        Some((call, result))
    }
}
