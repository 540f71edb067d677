//! Chat messages of every dialect: OpenAI, Anthropic, Gemini, the Responses API, the AI SDK, LangChain.

mod conversation;
mod harness;
mod items;
mod message;
mod part_type;
mod parts;
mod possible_call;
mod tool_part;

pub use self::{
    conversation::{Conversation, human},
    harness::{Harness, SETUP},
    message::{
        CONTENTS, Message, Messages, Side, Sides, content_of, is_message, is_readable, messages_of,
        unwrapped,
    },
    part_type::{is_result_type, is_typed, parts},
    parts::{call_of_part, content, result_of_part},
    possible_call::has_call_type,
};
