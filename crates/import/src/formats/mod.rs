//! The formats of logs, a file each, and how the format of a value is detected.

use crate::{prelude::*, unread};

/// Declares the formats. The first one that fits a value is used.
macro_rules! formats {
    ($($name:ident,)*) => {
        $(mod $name;)*

        static FORMATS: &[Format] = &[$($name::FORMAT,)*];
    };
}

formats! {
    reasoning_trace,
    atif,
    gemini_cli,
    vscode_chat,
    antigravity,
    kimi_code,
    kiro,
    grok_build,
    junie,
    vscode_debug,
    openhands,
    goose,
    opencode,
    copilot_cli,
    cursor,
    amp,
    droid,
    qwen_code,
    cline,
    otel,
    langsmith,
    inspect,
    langfuse,
    mini_swe_agent,
    swe_agent,
    tau,
    codex,
    pi,
    claude_code,
    messages,
}

/// Returns the names of all formats, in the order of detection.
pub fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Returns the format of an object or array by its content: what is known not to be read, before all others.
pub fn detect(value: Value) -> Option<&'static Format> {
    let kind = value.text("type");
    let is_record = value.is_object() || value.as_array().is_some();
    [&unread::FORMAT]
        .into_iter()
        .chain(FORMATS)
        .find(|format| is_record && (format.fits)(value, kind))
}

/// Returns whether what fits a format fits no other: the others need not be asked.
pub fn is_distinct(format: &Format) -> bool {
    ![&unread::FORMAT, &claude_code::FORMAT, &messages::FORMAT]
        .iter()
        .any(|general| general.name == format.name)
}

/// Returns the elements of an array that are values by themselves: of any but a conversation, of which they are the
/// messages.
pub fn elements(value: Value<'_>) -> Option<Array<'_>> {
    let elements = value.as_array().filter(|elements| elements.iter().any(Value::is_object))?;
    let is_session = |format: &Format| format.name != messages::FORMAT.name;
    (elements.iter().find_map(detect).is_some_and(is_session) || detect(value).is_none())
        .then_some(elements)
}
