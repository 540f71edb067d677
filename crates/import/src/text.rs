//! The text of recorded values.

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    event::{Event, Skipped},
    failure,
    json::{self, Members},
    messages::{self, Conversation, Side},
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
pub fn of(value: &Value, skipped: &mut Skipped) -> Text {
    let failed = failure::flag(value);
    match value {
        Value::Null => Text::default(),
        Value::String(text) => Text { text: text.clone(), failed },
        Value::Array(elements) if elements.is_empty() => Text::default(),
        value => {
            special(value, skipped).unwrap_or_else(|| Text { text: json::canonical(value), failed })
        }
    }
}

/// Returns the text of a value that an instrumentation recorded, often as JSON in a string. A string
/// of another shape stays as it is.
pub fn recorded(value: &Value, skipped: &mut Skipped) -> Text {
    let Value::String(recorded) = value else { return of(value, skipped) };
    let decoded = json::decoded(value);
    if let Cow::Owned(Value::String(text)) = decoded {
        return Text { text, failed: None };
    }
    let failed = failure::flag(&decoded);
    special(&decoded, skipped).unwrap_or_else(|| Text { text: recorded.clone(), failed })
}

/// Returns the text of a value with one of the shapes that tools and frameworks give to results.
fn special(value: &Value, skipped: &mut Skipped) -> Option<Text> {
    let failed = failure::flag(value);
    if let Value::Array(elements) = value {
        return typed_parts(elements, skipped).map(|text| Text { text, failed });
    }
    let kind = value.text("type").unwrap_or_default();
    if messages::is_text_type(kind)
        && let Some(text) = messages::text_of_part(value)
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
    if value.get("lc").is_some()
        && let Some(kwargs) = value.get("kwargs")
    {
        return Some(content_of(kwargs, skipped));
    }
    if kind == "tool" || value.get("tool_call_id").is_some() {
        return Some(content_of(value, skipped));
    }
    let content = value.list("content")?;
    let text = if content.is_empty() { String::new() } else { typed_parts(content, skipped)? };
    Some(Text { text, failed })
}

fn content_of(message: &Value, skipped: &mut Skipped) -> Text {
    let failed = failure::flag(message);
    let inner = of(message.get("content").unwrap_or(&Value::Null), skipped);
    Text { text: inner.text, failed: failed.or(inner.failed) }
}

/// Returns the text of an array of typed parts; `None` if an element has no type.
fn typed_parts(elements: &[Value], skipped: &mut Skipped) -> Option<String> {
    if elements.is_empty() || !elements.iter().all(|element| element.text("type").is_some()) {
        return None;
    }
    let mut texts = Vec::new();
    for element in elements {
        let kind = element.text("type").unwrap_or_default();
        if messages::is_text_type(kind) || kind == "refusal" {
            texts.push(messages::text_of_part(element).unwrap_or_default());
        } else {
            skipped.add(format!("part:{kind}"));
        }
    }
    Some(texts.join("\n"))
}

/// Returns what a person says in a value that was recorded as input: the text itself, the first human
/// message, or the member of an object that is a prompt.
pub fn human(value: &Value) -> Option<String> {
    let value = json::decoded(value);
    if let Value::String(text) = &*value {
        return (!json::is_blank(text)).then(|| text.clone());
    }
    if let Some(messages) = messages::of(&value, Side::Input) {
        let mut conversation = Conversation::default();
        conversation.read_all(&messages);
        return conversation.events.into_iter().find_map(|event| match event {
            Event::Human(text) if !json::is_blank(&text) => Some(text),
            _ => None,
        });
    }
    let names = ["prompt", "input", "question", "query", "message", "text"];
    value.first_name(&names).map(Into::into)
}
