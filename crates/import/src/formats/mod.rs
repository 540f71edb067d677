//! The formats of logs, a file each, and how the format of a value is detected.

use crate::{
    format::Format,
    json::{Kind, Members, Value},
};

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

/// Returns the format of a value by its content.
pub fn detect(value: Value) -> Option<&'static Format> {
    let is_record = matches!(value.kind(), Kind::Array(_) | Kind::Object(_));
    let kind = value.text("type");
    FORMATS.iter().find(|format| is_record && (format.fits)(value, kind))
}
