//! Whether the result of a tool says that the tool failed.

use std::sync::LazyLock;

use regex::Regex;

use crate::json::{Document, Kind, Members, Value};

/// Returns what a result, or its value, says by a flag: whether it failed.
pub fn flag(value: Value) -> Option<bool> {
    value.flag("isError").or_else(|| value.flag("is_error")).or_else(|| {
        let is_tool_message = value.text("type") == Some("tool") || value.has("tool_call_id");
        match value.text("status") {
            Some("error") if is_tool_message => Some(true),
            Some("success") if is_tool_message => Some(false),
            _ => None,
        }
    })
}

/// Returns whether the text of a result reads like a failure.
pub fn in_text(text: &str) -> bool {
    static BEGINNING: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^[ \t\r\n]*(?:<tool_use_error>|(?i:error)\b|Traceback \(most recent call last\))")
    });
    static EXIT: LazyLock<Regex> = LazyLock::new(|| {
        let program = "(?:the )?(?:(?:command|process|script|program) )?";
        let verb = "(?:(?:exited|completed|finished|failed|terminated|returned) with )?";
        let code = "(?:exit code|exit status|return code|returncode)";
        let number = r"[:=]? *-?[1-9][0-9]*\b";
        let tag = "<returncode>-?[1-9][0-9]*</returncode>";
        let all = format!(
            r"(?im)^[\[(]*(?:{program}{verb}{code}{number}|{program}exited with code{number}|{tag})"
        );
        pattern(&all)
    });
    BEGINNING.is_match(text) || EXIT.is_match(text) || is_error_object(text)
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern that does not depend on input")
}

fn is_error_object(text: &str) -> bool {
    if !text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{') {
        return false;
    }
    let Ok(document) = Document::parse(text) else { return false };
    let value = document.root();
    let error = match value.member("error").map(Value::kind) {
        None | Some(Kind::Null) => false,
        Some(Kind::Bool(error)) => error,
        Some(Kind::Number(number)) => number.as_f64() != 0.0,
        Some(Kind::String(text)) => !text.is_empty(),
        Some(Kind::Array(elements)) => !elements.is_empty(),
        Some(Kind::Object(object)) => object.members().next().is_some(),
    };
    error
        || value.flag("isError") == Some(true)
        || value.flag("is_error") == Some(true)
        || value.flag("success") == Some(false)
        || value.text("status") == Some("error")
}
