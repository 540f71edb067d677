//! The types of the parts of messages.

use crate::{
    converse,
    json::{Members, Value},
    part::Kind,
};

pub fn is_result_type(kind: &str) -> bool {
    Kind::of(kind) == Kind::Result
}

/// Returns the parts of a content with their types. A string is one text part, and an empty one none.
pub fn parts<'d>(
    mut content: Option<Value<'d>>,
) -> impl Iterator<Item = (&'d str, Value<'d>)> + Clone {
    while content.list("parts").is_some() {
        content = content.member("parts");
    }
    let array = content.and_then(Value::as_array);
    let one = content.filter(|_| array.is_none());
    array.into_iter().flatten().chain(one).filter_map(typed)
}

/// Returns whether a value is an object that is a part of a known shape.
pub fn is_typed(part: Value) -> bool {
    part.is_object() && typed(part).is_some_and(|(kind, _)| kind != "?")
}

/// Returns a part with its type; `?` if it has none.
pub fn typed(part: Value<'_>) -> Option<(&str, Value<'_>)> {
    if let Some(text) = part.as_str() {
        return (!text.is_empty()).then_some(("text", part));
    }
    if let Some(kind) = part.text("type").or_else(|| part.text("$type")) {
        return Some((kind, part));
    }
    // Gemini's parts are told apart by their members.
    if part.text("text").is_some() {
        return Some((if part.flag("thought") == Some(true) { "thought" } else { "text" }, part));
    }
    let call = part.first(&["function_call", "functionCall"]).map(|call| ("function_call", call));
    let response = || part.first(&["function_response", "functionResponse"]);
    call.or_else(|| Some(("tool_call_response", response()?)))
        .or_else(|| converse::typed(part))
        .or(Some(("?", part)))
}
