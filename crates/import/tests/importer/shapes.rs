//! Logs of every size of which one thing has many: each list and object of each written log, each tag, each nesting.

use std::{collections::BTreeSet, iter};

use knowledgepulse_test_support::importing;
use serde_json::{Value, json};

use crate::lines;

/// Makes a log of about this many bytes.
pub type Make = Box<dyn Fn(usize) -> String>;

/// Returns what makes each of these logs, by name.
pub fn shapes() -> Vec<(String, Make)> {
    tags().into_iter().chain(lists()).chain(others()).collect()
}

/// Repeats a text up to a size.
fn many(text: &str, bytes: usize) -> String {
    text.repeat((bytes / text.len()).max(1))
}

/// Returns logs of a text, around which a tool may write tags.
fn logs_of(text: &str) -> String {
    let claude = |kind: &str, content: Value| json!({ "type": kind, "sessionId": "s", "message": { "content": content } });
    let result = json!([{ "type": "tool_result", "tool_use_id": "1", "content": text }]);
    let chat = |first: &str| json!([{ "role": "user", "content": [{ "type": "text", "text": first }, { "type": "text", "text": text }] }, { "role": "tool", "content": text }, { "role": "assistant", "content": text }]);
    lines(&[
        claude("user", text.into()),
        claude("user", text.into()),
        claude("user", result),
        chat("<environment_details>"),
        chat("Go"),
        json!({ "type": "user.message", "data": { "transformedContent": text } }),
        json!({ "type": "session_start", "id": "s" }),
        json!({ "type": "message", "message": { "role": "user", "content": text } }),
        json!({ "role": "user", "message": { "content": text } }),
        json!({ "type": "session_meta", "payload": { "id": "s" } }),
        json!({ "type": "response_item", "payload": { "type": "message", "role": "user", "content": text } }),
        json!({ "trajectory_format": "mini-swe-agent-1", "messages": [{ "role": "user", "content": "Go" }, { "role": "assistant", "content": text }] }),
    ])
}

fn tags() -> Vec<(String, Make)> {
    let tags = [
        "system-reminder", "teammate-message", "agent-message", "command-name", "reminder",
        "system_reminder", "current_datetime", "user_query", "mode_notice", "user_input",
        "user_command", "task", "returncode", "channel", "input",
    ];
    let texts = [
        "exit code 0\n", "[exit code 0]\n", "exit code 1\n", "A: b\n", "```bash\n",
        "## My request for Codex:\n", "[REDACTED]", "Sender (untrusted metadata):\n",
        "```json\n{}\n```\n", "{\"type\":", "[", "\\u0000json:[",
    ];
    let of_tag = |tag: &str| {
        let [open, close] = [format!("<{tag}>"), format!("</{tag}>")];
        let [both, unfinished] = [format!("{open}{close}"), format!("<{tag} ")];
        [both, open.clone(), close.clone(), unfinished]
            .map(|text| (text.clone(), text))
            .into_iter()
            .chain([(open, close)])
            .collect::<Vec<_>>()
    };
    let texts = texts.map(|text| (text.to_owned(), text.to_owned()));
    let halves = tags.into_iter().flat_map(of_tag).chain(texts);
    let make = |(begin, end): (String, String)| {
        let name = format!("many {begin:?} and {end:?}");
        let make =
            move |bytes: usize| logs_of(&(many(&begin, bytes / 24) + &many(&end, bytes / 24)));
        (name, Box::new(make) as Make)
    };
    halves.map(make).collect()
}

/// The members whose values say what a record is.
const KINDS: [&str; 6] = ["type", "role", "kind", "source", "status", "event"];

/// Makes the texts in a value differ from those of its other copies.
fn differ(value: &mut Value, index: usize) {
    match value {
        Value::String(text) => *text += &index.to_string(),
        Value::Array(elements) => elements.iter_mut().for_each(|element| differ(element, index)),
        Value::Object(members) => members
            .iter_mut()
            .filter(|(name, _)| !KINDS.contains(&name.as_str()))
            .for_each(|(_, member)| differ(member, index)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Repeats the elements of a list, or the members of an object under other names, up to a size.
fn repeat(value: &mut Value, bytes: usize, are_distinct: bool) {
    let times = (bytes / value.to_string().len()).max(1);
    let copy = |(index, value): (usize, &Value)| {
        let mut copy = value.clone();
        if are_distinct {
            differ(&mut copy, index);
        }
        copy
    };
    let many = match &*value {
        Value::Array(list) => {
            list.iter().cycle().take(times * list.len()).enumerate().map(copy).collect()
        }
        Value::Object(members) => {
            let all = members.iter().cycle().take(times * members.len()).enumerate();
            let named = all.map(|(index, (name, value))| {
                let name =
                    if index < members.len() { name.clone() } else { format!("{name}{index}") };
                (name, copy((index, value)))
            });
            Value::Object(named.collect())
        }
        _ => return,
    };
    *value = many;
}

/// Returns each list and each object of the written logs with many elements or members, alike and distinct.
fn lists() -> Vec<(String, Make)> {
    let mut known = BTreeSet::new();
    let mut all: Vec<(String, Make)> = Vec::new();
    for (format, _, records) in importing::written() {
        let records = Value::from(records);
        let places = importing::places(&records).into_iter().map(|(pointer, _)| pointer);
        for pointer in iter::once(String::new()).chain(places) {
            let place = records.pointer(&pointer).unwrap();
            let is_empty = place.as_array().map(Vec::is_empty);
            let is_empty = is_empty.or(place.as_object().map(serde_json::Map::is_empty));
            let names = pointer.split('/').filter(|name| name.parse::<usize>().is_err());
            let name = format!("{format} {}", names.collect::<Vec<_>>().join("/"));
            if is_empty != Some(false) || !known.insert(name.clone()) {
                continue;
            }
            for are_distinct in [false, true] {
                let (records, pointer) = (records.clone(), pointer.clone());
                let make = move |bytes: usize| {
                    let mut records = records.clone();
                    repeat(records.pointer_mut(&pointer).unwrap(), bytes, are_distinct);
                    lines(records.as_array().unwrap())
                };
                let name = if are_distinct { format!("{name}, distinct") } else { name.clone() };
                all.push((name, Box::new(make)));
            }
        }
    }
    all
}

/// Returns what has many of a thing that no written log has twice.
fn others() -> [(String, Make); 4] {
    let gemini: Make = Box::new(|bytes| {
        let count = bytes / 150;
        let content: Vec<_> = (0..count).map(|index| json!({ "functionCall": { "name": format!("f{}", index % 3), "args": {} } })).collect();
        let calls: Vec<_> = (0..count).map(|index| json!({ "id": index.to_string(), "name": format!("f{}", index % 3), "args": {}, "status": "success" })).collect();
        json!({ "sessionId": "s", "projectHash": "p", "messages": [
            { "type": "user", "content": "Go" }, { "type": "gemini", "content": content, "toolCalls": calls },
        ] }).to_string()
    });
    let parts: Make = Box::new(|bytes| {
        let content = format!("{}[]{}", "{\"parts\":".repeat(100), "}".repeat(100));
        let deep = format!("{{\"role\":\"user\",\"content\":{content}}},");
        format!("[{}{{\"role\":\"assistant\",\"content\":\"a\"}}]", many(&deep, bytes))
    });
    let ids: Make = Box::new(|bytes| {
        let call = json!({ "role": "assistant", "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "{}" } }] });
        let result = json!({ "role": "tool", "tool_call_id": "a", "content": "b" });
        lines(&[json!({ "role": "user", "content": "Go" })]) + &many(&lines(&[call, result]), bytes)
    });
    let begun: Make = Box::new(|bytes| {
        let record = |index| json!({ "type": "assistant", "sessionId": "s", "message": { "id": "m", "content": [{ "type": "text", "text": format!("{index:09}") }] } });
        lines(&(0..bytes / 200).map(record).collect::<Vec<_>>())
    });
    [
        ("calls of Gemini twice", gemini),
        ("nested parts", parts),
        ("one id", ids),
        ("texts of an answer", begun),
    ]
    .map(|(name, make)| (name.to_owned(), make))
}
