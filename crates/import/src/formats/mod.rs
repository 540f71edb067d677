//! The formats: each one file here, and one line in [`FORMATS`].

mod atif;
mod claude_code;
mod codex;
mod inspect;
mod langfuse;
mod messages;
mod mini_swe_agent;
mod open_runs;
mod otel;
mod pi;
mod reasoning_trace;
mod sessions;
mod swe_agent;
mod tau;

use crate::{
    format::Format,
    json::{Array, Kind, Members, Value},
};

/// All formats, in the order in which a value is compared with them.
const FORMATS: &[&Format] = &[
    &reasoning_trace::FORMAT,
    &atif::FORMAT,
    &otel::FORMAT,
    &inspect::FORMAT,
    &langfuse::FORMAT,
    &mini_swe_agent::FORMAT,
    &swe_agent::FORMAT,
    &tau::FORMAT,
    &codex::FORMAT,
    &pi::FORMAT,
    &claude_code::FORMAT,
    &messages::FORMAT,
];

/// Returns the names of all formats, in the order in which a value is compared with them.
pub fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Returns the format of a value of an input: by its content, and `previous` is the format of the
/// value before it.
pub fn detect(value: Value, previous: Option<&'static Format>) -> Option<&'static Format> {
    let object = match value.kind() {
        Kind::Array(elements) => {
            let first = elements.iter().find(|element| element.is_object())?;
            let is_conversation = crate::messages::is_message(first);
            return is_conversation.then(|| conversation_format(elements));
        }
        Kind::Object(object) => object,
        _ => return None,
    };
    let fits = |format: &&'static Format| (format.fits)(object);
    match FORMATS.iter().copied().find(fits) {
        Some(format) if std::ptr::eq(format, &messages::FORMAT) => {
            Some(object.list("messages").map_or(format, conversation_format))
        }
        Some(format) => Some(format),
        None => previous.filter(|format| format.adopts && object.text("type").is_some()),
    }
}

/// Returns the format of a conversation: mini-swe-agent's are told by the commands in their texts.
fn conversation_format(messages: Array) -> &'static Format {
    match mini_swe_agent::is_conversation(messages) {
        true => &mini_swe_agent::FORMAT,
        false => &messages::FORMAT,
    }
}
