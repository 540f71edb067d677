//! Messages that are flattened into attributes, as in `llm.input_messages.0.message.content`.

use super::{
    attributes::{content, place},
    wrapper::{Attribute, add},
};
use crate::prelude::*;

/// The place of an attribute's messages, the number of its message, and what it is of that: names, and numbers in lists.
type Path<'d> = Vec<(Option<u64>, &'d str)>;

/// A flattened attribute.
pub(super) type Flat<'d> = (Path<'d>, Attribute<'d>);

/// Returns a flattened attribute of a message; `None` if it is not read.
pub(super) fn flat<'d>((name, value): (&'d str, Attribute<'d>)) -> Option<Flat<'d>> {
    let (place, rest) = place(name)?;
    let mut path = vec![(None, place)];
    // Few are nested, so that no name takes much stack.
    for part in rest.splitn(8, '.') {
        let names = match part {
            // Of OpenInference and OpenAI, around what others have without.
            "message" | "message_content" | "tool_call" | "function" => &[],
            "contents" => &["content"][..],
            "function_call_name" => &["tool_calls", "0", "name"],
            "function_call_arguments_json" => &["tool_calls", "0", "arguments"],
            part => &[part],
        };
        path.extend(names.iter().map(|name| (name.parse().ok(), *name)));
    }
    let value = match (value.recorded(), &path[1..]) {
        _ if value.is_null() => return None,
        (Some(text), [(Some(_), _), (_, "content")]) => {
            Attribute::Plain(content(text, |part| part.text("type").is_some()))
        }
        (_, [(Some(_), _), (_, "role" | "name" | "tool_call_id" | "content")]) => value,
        // As OpenInference has a list of texts.
        (Some(text), [(Some(_), _), (_, "content"), (Some(_), _)]) if text.is_string() => value,
        (_, [(Some(_), _), (_, "content" | "tool_calls"), (Some(_), _), _, ..]) => value,
        _ => return None,
    };
    Some((path, value))
}

/// Adds sorted attributes whose paths are equal up to a depth as one value: lists of what has numbers, else objects.
pub(super) fn add_nested(index: &mut Index, flat: &[Flat], depth: usize) -> Result<(), Full> {
    let inner = &flat[flat.partition_point(|flat| flat.0.len() == depth)..];
    let groups = inner.chunk_by(|a, b| a.0[depth] == b.0[depth]);
    let add_group = |index: &mut Index, group| add_nested(index, group, depth + 1);
    match (inner, flat) {
        ([], [.., (_, value)]) => add(index, *value),
        ([(path, _), ..], _) if path[depth].0.is_some() => index.array(groups, add_group),
        _ => index.object(groups.map(|group| (group[0].0[depth].1, group)), add_group),
    }
}
