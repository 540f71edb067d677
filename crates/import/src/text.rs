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

/// Returns the text of a content, or of a member that may be missing: of its parts; canonical JSON if it has none.
pub fn text_of<'d>(value: impl Into<Option<Value<'d>>>, skipped: &mut Skipped) -> Output {
    let Some(value) = value.into() else { return Output::default() };
    special(value, skipped).unwrap_or_else(|| data(value))
}

/// Returns the text of what a tool gave, whatever it is: canonical JSON, if it is no string.
pub fn data(value: Value) -> Output {
    let text = match value.kind() {
        Kind::Null => String::new(),
        Kind::String(text) => text.into(),
        _ => value.canonical(),
    };
    Output { text, failed: flag(value) }
}

/// Returns the text of what a tool of MCP gave, of its parts; of any other data.
pub fn of_tool(value: Value, skipped: &mut Skipped) -> Output {
    of_mcp(value, skipped).unwrap_or_else(|| data(value))
}

/// Returns the text of a value that an instrumentation recorded, often as JSON in a string. A string with
/// another shape stays as it is.
pub fn recorded(value: Value, skipped: &mut Skipped) -> Output {
    let Some(recorded) = value.as_str() else { return text_of(value, skipped) };
    let decoded = value.decoded();
    let text = decoded.as_str().unwrap_or(recorded);
    // Texts with members of their own are data.
    let is_text = |part: Value| part.text("type").map(part::Kind::of) == Some(part::Kind::Text);
    let is_own = |part: Value| {
        is_text(part) && !has_only(part, TEXT) && !has_only(part, &["type", "content"])
    };
    let is_data = decoded.as_array().is_some_and(|mut parts| parts.any(is_own));
    let output = if is_data { None } else { special(decoded, skipped) };
    output.unwrap_or_else(|| Output { text: text.into(), failed: flag(decoded) })
}

/// Returns whether an object has these members, if any, and no others.
fn has_only(value: Value, names: &[&str]) -> bool {
    value.is_object() && value.members().all(|(name, _)| names.contains(&name))
}

/// The members of a part that is a text, of a result of MCP, of an output of the AI SDK, and of a message of a framework.
const TEXT: &[&str] =
    &["type", "text", "annotations", "citations", "cache_control", "_meta", "meta"];
const MCP: &[&str] =
    &["content", "isError", "is_error", "structuredContent", "structured_content", "_meta"];
const OUTPUT: &[&str] = &["type", "value", "providerOptions"];
const MESSAGE: &[&str] = &[
    "type", "role", "content", "tool_call_id", "name", "id", "status", "artifact",
    "additional_kwargs", "response_metadata",
];

/// Returns the text of a value with one of the shapes that tools and frameworks give to results.
fn special(value: Value, skipped: &mut Skipped) -> Option<Output> {
    if let Some(parts) = value.as_array() {
        let text = text_of_parts(parts, skipped)?;
        return Some(Output { text, failed: None });
    }
    let kind = value.text("type").unwrap_or_default();
    if is_denial(value) {
        let reason = value.text("reason").unwrap_or_default().into();
        return Some(Output { text: reason, failed: Some(true) });
    }
    if part::Kind::of(kind) == part::Kind::Text && has_only(value, TEXT) {
        return Some(Output { text: text_of_part(value)?, failed: flag(value) });
    }
    let kwargs = value.object("kwargs").filter(|_| value.has("lc"));
    let is_message = kind == "tool" || value.has("tool_call_id");
    let message = kwargs.or((is_message && has_only(value, MESSAGE)).then_some(value));
    if let Some(message) = message {
        let inner = text_of(message.get("content"), skipped);
        return Some(Output { failed: flag(message).or(inner.failed), ..inner });
    }
    if let Some(inner) = value.get("value").filter(|_| has_only(value, OUTPUT)) {
        let failed = kind.starts_with("error").then_some(true);
        let inner = match kind {
            "content" => text_of(inner, skipped),
            "text" | "json" | "error-text" | "error-json" => data(inner),
            _ => return None,
        };
        return Some(Output { failed: failed.or(inner.failed), ..inner });
    }
    of_mcp(value, skipped)
}

fn of_mcp(value: Value, skipped: &mut Skipped) -> Option<Output> {
    let content = value.list("content").filter(|_| has_only(value, MCP))?;
    Some(Output { text: text_of_parts(content, skipped)?, failed: flag(value) })
}

/// Returns the texts of the parts of a result, joined, and counts others; `None` if one element is no part.
pub fn text_of_parts(parts: Array, skipped: &mut Skipped) -> Option<String> {
    let contents = parts.map(content).collect::<Option<Vec<_>>>()?;
    let mut texts = Vec::new();
    for (kind, text) in contents {
        match text {
            Some(text) => texts.push(text),
            None => skipped.add_part(kind),
        }
    }
    Some(texts.join("\n"))
}

/// Returns the type of a part of a result, and its text if it has one; `None` if it is none.
fn content(part: Value<'_>) -> Option<(&str, Option<String>)> {
    if let Some(kind) = part.text("type") {
        let text = match kind {
            // As in Cohere's API.
            "document" => part.object("document").member("data").map(|value| data(value).text),
            "search_result" => Some(joined(part.elements("content").filter_map(text_of_part))?),
            _ if part::Kind::of(kind) == part::Kind::Text => Some(text_of_part(part)?),
            _ => None,
        };
        return (text.is_some() || part::is_media(kind, part)).then_some((kind, text));
    }
    // As in Bedrock's Converse API: its one member tells it apart.
    let mut members = part.members();
    let (name, value) = members.next().filter(|_| members.next().is_none())?;
    let text = match name {
        "text" => Some(value.as_str().or_else(|| value.text("text"))?.into()),
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
    let (text, count) = replaced(tags, text, |_| "");
    skipped.add_many(reason, count);
    text
}

/// Puts something in place of the elements with these tags. Returns the text, and how many there were.
pub fn replaced(tags: &[&str], text: String, with: impl Fn(&str) -> &str) -> (String, u64) {
    let (mut kept, mut end, mut count) = (String::new(), 0, 0);
    for element in elements(tags, &text) {
        kept.extend([&text[end..element.place.start], with(element.inside)]);
        end = element.place.end;
        count += 1;
    }
    if count == 0 { (text, 0) } else { (kept + &text[end..], count) }
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
