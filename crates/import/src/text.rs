//! The text of values.

use std::{borrow::Borrow, ops::Range};

use crate::{
    call::ToolResult,
    failure::{flag, is_denial, is_failure},
    json::{Array, Kind, Members, Value},
    part,
    skipped::Skipped,
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
        ToolResult { text: self.text, failed, ..ToolResult::default() }
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
    let kind = value.text("type").unwrap_or_default();
    if part::Kind::of(kind) == part::Kind::Text
        && let Some(text) = text_of_part(value)
    {
        return Some(Output { text, failed: flag(value) });
    }
    if is_denial(value) {
        let reason = value.text("reason").unwrap_or_default().into();
        return Some(Output { text: reason, failed: Some(true) });
    }
    let is_message = kind == "tool" || value.has("tool_call_id");
    let wrapped = value.get("kwargs").filter(|_| value.has("lc"));
    let message = wrapped.or(is_message.then_some(value));
    let (inner, failed) = match (kind, value.get("value"), message) {
        ("text" | "json" | "error-text" | "error-json" | "content", Some(inner), _) => {
            (Some(inner), kind.starts_with("error").then_some(true).or(flag(value)))
        }
        (.., Some(message)) => (message.get("content"), flag(message)),
        _ => {
            let parts = value.as_array().filter(|parts| !parts.is_empty());
            let text = text_of_parts(parts.or_else(|| value.list("content"))?, skipped)?;
            return Some(Output { text, failed: flag(value) });
        }
    };
    let inner = text_of(inner, skipped);
    Some(Output { failed: failed.or(inner.failed), ..inner })
}

/// Returns the texts of the parts of a result, joined, and counts others; `None` if they are no parts. They have all a
/// type or all none.
pub fn text_of_parts(parts: Array, skipped: &mut Skipped) -> Option<String> {
    let has_type = |part: &Value| part.text("type").is_some();
    let are_typed = parts.first().as_ref().is_some_and(has_type);
    let read = |part| content(part).filter(|_| has_type(&part) == are_typed);
    let contents = parts.map(read).collect::<Option<Vec<_>>>()?;
    let mut texts = Vec::new();
    for (kind, text) in contents {
        match text {
            Some(text) => texts.push(text),
            None => skipped.add_part(kind),
        }
    }
    Some(texts.join("\n"))
}

/// Returns the type of a part of a result, and its text if it has one.
fn content(part: Value<'_>) -> Option<(&str, Option<String>)> {
    if let Some(kind) = part.text("type") {
        let is_text = part::Kind::of(kind) == part::Kind::Text;
        return Some((kind, is_text.then(|| text_of_part(part).unwrap_or_default())));
    }
    // As in Bedrock's Converse API: its one member tells it apart.
    let mut members = part.members();
    let (name, value) = members.next().filter(|_| members.next().is_none())?;
    let text = match name {
        "text" => Some(value.as_str()?.into()),
        "json" => Some(value.canonical()),
        "image" | "document" | "video" | "searchResult" if value.is_object() => None,
        _ => return None,
    };
    Some((name, text))
}

/// Returns the text of a text or reasoning part; `None` if it has none.
pub fn text_of_part(part: Value) -> Option<String> {
    let names = ["text", "content", "thinking", "reasoning", "refusal", "think"];
    let text = part
        .as_str()
        .or_else(|| names.iter().find_map(|name| part.text(name)))
        .or_else(|| part.member("text")?.text("value"))
        // As in Bedrock's Converse API.
        .or_else(|| part.object("reasoningContent").object("reasoningText").text("text"));
    text.map(Into::into).or_else(|| text_of_summary(part)).or_else(|| {
        let cited = part.object("citationsContent")?.elements("content");
        Some(cited.filter_map(|part| part.text("text")).collect())
    })
}

/// Returns the texts of a `summary`, joined; `None` if there are none.
pub fn text_of_summary(part: Value) -> Option<String> {
    joined(part.elements("summary").filter_map(|part| part.text("text")))
}

pub fn joined<T: Borrow<str>>(texts: impl Iterator<Item = T>) -> Option<String> {
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Removes elements with these tags from a text, and counts each.
pub fn without(tags: &[&str], text: String, reason: &str, skipped: &mut Skipped) -> String {
    let (mut kept, mut end) = (String::new(), 0);
    for element in elements(tags, &text) {
        kept.push_str(&text[end..element.place.start]);
        end = element.place.end;
        skipped.add(reason);
    }
    if end == 0 { text } else { kept + &text[end..] }
}

/// An element of a text, such as `<tag name="value">inside</tag>`.
pub struct Element<'t> {
    pub place: Range<usize>,
    pub inside: &'t str,
}

/// Returns the elements with these tags, each of which ends with the first end of its tag, in time in proportion to the
/// length of the text.
pub fn elements<'t>(tags: &[&'t str], text: &'t str) -> impl Iterator<Item = Element<'t>> {
    let is_in_text = |tag: &&str| text.contains(&format!("<{tag}"));
    let mut tags: Vec<_> = tags.iter().copied().filter(is_in_text).collect();
    let mut from = 0;
    let next = move || {
        while !tags.is_empty() {
            let begin = from + text[from..].find('<')?;
            from = begin + 1;
            let begins = |tag: &&str| {
                let rest = text[from..].strip_prefix(*tag);
                rest.is_some_and(|rest| rest.starts_with(['>', ' ', '\t', '\r', '\n']))
            };
            let Some(tag) = tags.iter().position(begins) else { continue };
            let inside = from + text[from..].find('>')? + 1;
            let close = format!("</{}>", tags[tag]);
            let Some(length) = text[inside..].find(&close) else {
                // Nor has any later element an end.
                tags.remove(tag);
                continue;
            };
            from = inside + length + close.len();
            let inside = &text[inside..inside + length];
            return Some(Element { place: begin..from, inside });
        }
        None
    };
    std::iter::from_fn(next)
}
