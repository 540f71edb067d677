//! The text of recorded values.

use crate::{
    event::Skipped,
    failure,
    json::{Array, Kind, Members, Value},
};

/// The text of a value, and what the value says of its success.
#[derive(Debug, Default)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Whether the value says that it is a failure; `None` if it says nothing.
    pub failed: Option<bool>,
}

/// Returns the text of a value; canonical JSON if it has none of the known shapes.
pub fn of(value: Value, skipped: &mut Skipped) -> Text {
    let failed = failure::flag(value);
    match value.kind() {
        Kind::Null => Text::default(),
        Kind::String(text) => Text { text: text.into(), failed },
        Kind::Array(elements) if elements.is_empty() => Text::default(),
        _ => special(value, skipped).unwrap_or_else(|| Text { text: value.canonical(), failed }),
    }
}

/// Returns the text of a value that an instrumentation recorded, often as JSON in a string. A string
/// of another shape stays as it is.
pub fn recorded(value: Value, skipped: &mut Skipped) -> Text {
    let Some(recorded) = value.as_str() else { return of(value, skipped) };
    let decoded = value.decoded();
    if let Some(text) = decoded.as_str().filter(|_| !decoded.is(value)) {
        return Text { text: text.into(), failed: None };
    }
    let failed = failure::flag(decoded);
    special(decoded, skipped).unwrap_or_else(|| Text { text: recorded.into(), failed })
}

/// Returns the text of a value with one of the shapes that tools and frameworks give to results.
fn special(value: Value, skipped: &mut Skipped) -> Option<Text> {
    let failed = failure::flag(value);
    if let Some(elements) = value.as_array() {
        return typed_parts(elements, skipped).map(|text| Text { text, failed });
    }
    let kind = value.text("type").unwrap_or_default();
    if is_text_type(kind)
        && let Some(text) = of_part(value)
    {
        return Some(Text { text, failed });
    }
    if let ("text" | "json" | "error-text" | "error-json" | "content", Some(value)) =
        (kind, value.get("value"))
    {
        let inner = of(value, skipped);
        let failed = failed.or(inner.failed);
        let is_error = kind.starts_with("error").then_some(true);
        return Some(Text { text: inner.text, failed: is_error.or(failed) });
    }
    if value.has("lc")
        && let Some(kwargs) = value.get("kwargs")
    {
        return Some(content_of(kwargs, skipped));
    }
    if kind == "tool" || value.has("tool_call_id") {
        return Some(content_of(value, skipped));
    }
    let content = value.list("content")?;
    let text = if content.is_empty() { String::new() } else { typed_parts(content, skipped)? };
    Some(Text { text, failed })
}

fn content_of(message: Value, skipped: &mut Skipped) -> Text {
    let failed = failure::flag(message);
    let inner = message.get("content").map(|content| of(content, skipped)).unwrap_or_default();
    Text { text: inner.text, failed: failed.or(inner.failed) }
}

/// Returns the text of an array of typed parts; `None` if an element has no type.
fn typed_parts(elements: Array, skipped: &mut Skipped) -> Option<String> {
    if elements.is_empty() || !elements.iter().all(|element| element.text("type").is_some()) {
        return None;
    }
    let mut texts = Vec::new();
    for element in elements {
        let kind = element.text("type").unwrap_or_default();
        if is_text_type(kind) || kind == "refusal" {
            texts.push(of_part(element).unwrap_or_default());
        } else {
            skipped.add(format!("part:{kind}"));
        }
    }
    Some(texts.join("\n"))
}

/// Returns whether a part of this type is text.
pub fn is_text_type(kind: &str) -> bool {
    ["text", "input_text", "output_text", "summary_text"].contains(&kind)
}

/// Returns the text of a text or reasoning part; `None` if it has none.
pub fn of_part(part: Value) -> Option<String> {
    if let Some(text) = part.as_str() {
        return Some(text.into());
    }
    ["text", "content", "thinking", "reasoning", "refusal"]
        .iter()
        .find_map(|name| part.text(name))
        .or_else(|| part.member("text")?.text("value"))
        .map(Into::into)
        .or_else(|| of_summary(part))
}

pub fn of_summary(part: Value) -> Option<String> {
    let texts: Vec<_> = part.list("summary")?.iter().filter_map(|part| part.text("text")).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
