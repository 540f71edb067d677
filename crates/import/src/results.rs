//! The results of tools: their text, and whether the tool failed.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    events::{Skipped, ToolResult},
    json::{Document, Kind, Members, Value},
};

#[derive(Debug, Default)]
pub struct Output {
    pub text: String,
    /// Whether the value says by a flag that the tool failed.
    pub failed: Option<bool>,
}

impl Output {
    /// Returns the result with neither id nor name. It failed according to `flag`, else to the value, else to
    /// its text.
    pub fn into_result(self, flag: Option<bool>) -> ToolResult {
        let failed = flag.or(self.failed).unwrap_or_else(|| is_failure(&self.text));
        ToolResult { text: self.text, failed, id: None, name: None }
    }
}

/// Returns the text of a value, or of a member that may be missing; canonical JSON if it has none of the known shapes.
pub fn text_of<'d>(value: impl Into<Option<Value<'d>>>, skipped: &mut Skipped) -> Output {
    let Some(value) = value.into() else { return Output::default() };
    let failed = flag(value);
    match value.kind() {
        Kind::Null => Output::default(),
        Kind::String(text) => Output { text: text.into(), failed },
        Kind::Array(elements) if elements.is_empty() => Output::default(),
        _ => special(value, skipped).unwrap_or_else(|| Output { text: value.canonical(), failed }),
    }
}

/// Returns the text of a value that an instrumentation recorded, often as JSON in a string. A string with
/// another shape stays as it is.
pub fn recorded(value: Value, skipped: &mut Skipped) -> Output {
    let Some(recorded) = value.as_str() else { return text_of(value, skipped) };
    let decoded = value.decoded();
    let text = decoded.as_str().unwrap_or(recorded);
    special(decoded, skipped).unwrap_or_else(|| Output { text: text.into(), failed: flag(decoded) })
}

/// Returns the text of a value with one of the shapes that tools and frameworks give to results.
fn special(value: Value, skipped: &mut Skipped) -> Option<Output> {
    let failed = flag(value);
    let kind = value.text("type").unwrap_or_default();
    if is_text_type(kind)
        && let Some(text) = text_of_part(value)
    {
        return Some(Output { text, failed });
    }
    if let ("text" | "json" | "error-text" | "error-json" | "content", Some(value)) =
        (kind, value.get("value"))
    {
        let Output { text, failed: inner } = text_of(value, skipped);
        let is_error = kind.starts_with("error").then_some(true);
        return Some(Output { text, failed: is_error.or(failed).or(inner) });
    }
    if is_denial(value) {
        let reason = value.text("reason").unwrap_or_default().into();
        return Some(Output { text: reason, failed: Some(true) });
    }
    let is_message = kind == "tool" || value.has("tool_call_id");
    let wrapped = value.get("kwargs").filter(|_| value.has("lc"));
    if let Some(message) = wrapped.or(is_message.then_some(value)) {
        let Output { text, failed } = text_of(message.get("content"), skipped);
        return Some(Output { text, failed: flag(message).or(failed) });
    }
    let parts = value.as_array().filter(|parts| !parts.is_empty());
    let parts = parts.or_else(|| value.list("content"))?;
    let is_typed = parts.iter().all(|part| part.text("type").is_some());
    is_typed.then(|| Output { text: text_of_parts(parts, skipped), failed })
}

pub fn text_of_parts<'d>(
    parts: impl IntoIterator<Item = Value<'d>>,
    skipped: &mut Skipped,
) -> String {
    let mut texts = Vec::new();
    for part in parts {
        let kind = part.text("type").unwrap_or_default();
        if is_text_type(kind) || kind == "refusal" {
            texts.push(text_of_part(part).unwrap_or_default());
        } else {
            skipped.add(format!("part:{kind}"));
        }
    }
    texts.join("\n")
}

/// Returns whether the AI SDK gave this value to the model in place of a result, because a person refused the call.
pub fn is_denial(value: Value) -> bool {
    value.text("type") == Some("execution-denied")
}

pub fn is_text_type(kind: &str) -> bool {
    ["text", "input_text", "output_text", "summary_text"].contains(&kind)
}

/// Returns the text of a text or reasoning part; `None` if it has none.
pub fn text_of_part(part: Value) -> Option<String> {
    let names = ["text", "content", "thinking", "reasoning", "refusal"];
    part.as_str()
        .or_else(|| names.iter().find_map(|name| part.text(name)))
        .or_else(|| part.member("text")?.text("value"))
        .map(Into::into)
        .or_else(|| text_of_summary(part))
}

/// Returns the texts of a `summary`, joined; `None` if there are none.
pub fn text_of_summary(part: Value) -> Option<String> {
    let texts: Vec<_> = part.elements("summary").filter_map(|part| part.text("text")).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Returns whether a result, or its value, says by a flag that the tool failed.
pub fn flag<'d>(value: impl Members<'d>) -> Option<bool> {
    value.flag("isError").or_else(|| value.flag("is_error")).or_else(|| {
        let is_error = match value.text("status")? {
            "error" => true,
            "success" => false,
            _ => return None,
        };
        let is_tool_message = value.text("type") == Some("tool") || value.has("tool_call_id");
        is_tool_message.then_some(is_error)
    })
}

/// Returns whether an exit code says that the tool failed; `None` if it is no number.
pub fn has_failed(code: Option<Value>) -> Option<bool> {
    code?.as_f64().map(|code| code != 0.0)
}

/// Returns whether the text of a result reads like a failure.
fn is_failure(text: &str) -> bool {
    static BEGINNING: LazyLock<Regex> = LazyLock::new(|| {
        // The OpenAI Agents SDK and Mastra say nowhere else that a tool failed or was refused.
        let failed = r"An error occurred while running the tool\.";
        let refused = r"Tool (?:execution was not approved\.|call was not approved by the user)";
        let other = r"<tool_use_error>|(?i:error)\b|Traceback \(most recent call last\)";
        regex(&format!(r"^[ \t\r\n]*(?:{failed}|{refused}|{other})"))
    });
    static EXIT: LazyLock<Regex> = LazyLock::new(|| {
        let program = "(?:the )?(?:(?:command|process|script|program) )?";
        let verb = "(?:(?:exited|completed|finished|failed|terminated|returned) with )?";
        let code = "(?:exit code|exit status|return code|returncode)";
        let number = r"[:=]? *-?[1-9][0-9]*\b";
        let tag = "<returncode>-?[1-9][0-9]*</returncode>";
        regex(&format!(
            r"(?im)^[\[(]*(?:{program}{verb}{code}{number}|{program}exited with code{number}|{tag})"
        ))
    });
    BEGINNING.is_match(text) || EXIT.is_match(text) || is_error_object(text)
}

pub fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("a valid expression")
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
        Some(Kind::Number(number)) => number.as_f64() != Some(0.0),
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
