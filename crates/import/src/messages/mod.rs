//! Chat messages of every dialect: OpenAI, Anthropic, Gemini, the Responses API, the AI SDK, LangChain.

mod conversation;
mod items;
mod message;
mod parts;
mod person;
mod reading;

pub use self::{
    conversation::Conversation,
    message::{
        CONTENTS, Message, Messages, Side, Sides, content_of, is_message, is_readable, messages_of,
        unwrapped,
    },
    parts::{call_of_part, content, result_of_part},
    reading::human,
};
pub use crate::part::{is_result_type, is_typed};
