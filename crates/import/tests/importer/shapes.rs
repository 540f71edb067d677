//! Logs of every size of which one thing has many: each list of each written log, each tag, each nesting.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

/// Makes a log of about this many bytes.
pub type Make = Box<dyn Fn(usize) -> String + Send>;

/// Returns what makes each of these logs, by name.
pub fn shapes() -> Vec<(String, Make)> {
    tags().into_iter().chain(lists()).chain(others()).collect()
}

/// Repeats a text up to a size.
fn many(text: &str, bytes: usize) -> String {
    text.repeat((bytes / text.len()).max(1))
}

/// Logs of a text, around which a tool may write tags.
fn logs_of(text: &str) -> Vec<(&'static str, String)> {
    let claude = |kind: &str, content: Value| json!({ "type": kind, "sessionId": "s", "message": { "content": content } });
    let result = json!([{ "type": "tool_result", "tool_use_id": "1", "content": text }]);
    let chat = |first: &str| json!([{ "role": "user", "content": [{ "type": "text", "text": first }, { "type": "text", "text": text }] }, { "role": "tool", "content": text }, { "role": "assistant", "content": text }]);
    let copilot = json!({ "type": "user.message", "data": { "transformedContent": text } });
    let droid = json!({ "type": "message", "message": { "role": "user", "content": text } });
    let cursor = json!({ "role": "user", "message": { "content": text } });
    let codex = json!({ "type": "response_item", "payload": { "type": "message", "role": "user", "content": text } });
    let lines = |values: &[Value]| values.iter().map(|value| format!("{value}\n")).collect();
    vec![
        ("claude-code", lines(&[claude("user", text.into()), claude("user", text.into()), claude("user", result)])),
        ("cline", chat("<environment_details>").to_string()),
        ("messages", chat("Go").to_string()),
        ("copilot-cli", lines(&[copilot])),
        ("droid", lines(&[json!({ "type": "session_start", "id": "s" }), droid])),
        ("cursor", lines(&[cursor])),
        ("codex", lines(&[json!({ "type": "session_meta", "payload": { "id": "s" } }), codex])),
        ("mini-swe-agent", json!({ "trajectory_format": "mini-swe-agent-1", "messages": [{ "role": "user", "content": "Go" }, { "role": "assistant", "content": text }] }).to_string()),
    ]
}

fn tags() -> Vec<(String, Make)> {
    let tags = [
        "system-reminder", "teammate-message", "agent-message", "command-name", "reminder",
        "system_reminder", "current_datetime", "user_query", "mode_notice", "user_input",
        "user_command", "task", "returncode", "channel", "input",
    ];
    let mut all = Vec::new();
    for tag in tags {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let both = open.clone() + &close;
        let texts: [(&str, Make); 5] = [
            ("pairs", Box::new(move |bytes| many(&both, bytes))),
            (
                "nested",
                Box::new({
                    let (open, close) = (open.clone(), close.clone());
                    move |bytes| many(&open, bytes / 2) + &many(&close, bytes / 2)
                }),
            ),
            ("begins", Box::new(move |bytes| many(&open, bytes))),
            ("ends", Box::new(move |bytes| many(&close, bytes))),
            ("unfinished", Box::new(move |bytes| many(&format!("<{tag} "), bytes))),
        ];
        for (form, text) in texts {
            all.push((format!("{form} of {tag}"), text));
        }
    }
    for line in [
        "exit code 0\n", "[exit code 0]\n", "exit code 1\n", "A: b\n", "```bash\n",
        "## My request for Codex:\n", "[REDACTED]", "Sender (untrusted metadata):\n",
        "```json\n{}\n```\n", "{\"type\":", "[", "\\u0000json:[",
    ] {
        all.push((format!("lines of {line:?}"), Box::new(move |bytes| many(line, bytes)) as Make));
    }
    let make = |(name, text): (String, Make)| {
        let make: Make = Box::new(move |bytes| {
            let text = text(bytes / 12);
            logs_of(&text).into_iter().map(|(_, log)| log + "\n").collect()
        });
        (name, make)
    };
    all.into_iter().map(make).collect()
}

/// Returns each list of the written logs, with its elements many times.
fn lists() -> Vec<(String, Make)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/logs");
    let mut known = BTreeSet::new();
    let mut all: Vec<(String, Make)> = Vec::new();
    let mut folders: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for file in folders.iter().filter(|folder| folder.is_dir() && !folder.ends_with("golden")) {
        let format = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut files: Vec<_> =
            fs::read_dir(file).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            let Ok(log) = fs::read_to_string(file) else { continue };
            let values: Result<Vec<Value>, _> =
                serde_json::Deserializer::from_str(&log).into_iter().collect();
            let Ok(values) = values else { continue };
            let values = Value::from(values);
            for pointer in pointers(&values) {
                let names: Vec<_> =
                    pointer.split('/').filter(|name| name.parse::<usize>().is_err()).collect();
                let name = format!("{format} {}", names.join("/"));
                if !known.insert(name.clone()) {
                    continue;
                }
                let values = values.clone();
                all.push((
                    name,
                    Box::new(move |bytes| {
                        let mut values = values.clone();
                        let list = values.pointer_mut(&pointer).unwrap().as_array_mut().unwrap();
                        let size = Value::from(list.clone()).to_string().len();
                        *list = list
                            .iter()
                            .cycle()
                            .take(list.len() * (bytes / size).max(1))
                            .cloned()
                            .collect();
                        let values = values.as_array().unwrap();
                        values.iter().map(|value| format!("{value}\n")).collect()
                    }),
                ));
            }
        }
    }
    all
}

/// Returns the places of the arrays in a value that are not empty.
fn pointers(value: &Value) -> Vec<String> {
    let inside = |name: String, value: &Value| {
        pointers(value).into_iter().map(move |rest| format!("/{name}{rest}")).collect::<Vec<_>>()
    };
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            let elements = elements.iter().enumerate();
            let inner = elements.flat_map(|(index, value)| inside(index.to_string(), value));
            std::iter::once(String::new()).chain(inner).collect()
        }
        Value::Object(members) => {
            let escaped = |name: &String| name.replace('~', "~0").replace('/', "~1");
            members.iter().flat_map(|(name, value)| inside(escaped(name), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns what has many of a thing that no written log has twice.
fn others() -> Vec<(String, Make)> {
    let gemini: Make = Box::new(|bytes| {
        let count = bytes / 150;
        let content: Vec<_> = (0..count).map(|index| json!({ "functionCall": { "name": format!("f{}", index % 3), "args": {} } })).collect();
        let calls: Vec<_> = (0..count).map(|index| json!({ "id": index.to_string(), "name": format!("f{}", index % 3), "args": {}, "status": "success" })).collect();
        json!({ "sessionId": "s", "projectHash": "p", "messages": [
            { "type": "user", "content": "Go" }, { "type": "gemini", "content": content, "toolCalls": calls },
        ] }).to_string()
    });
    let parts: Make = Box::new(|bytes| {
        let answer = json!({ "role": "assistant", "content": "a" }).to_string();
        let depth = 100;
        let content = format!("{}[]{}", "{\"parts\":".repeat(depth), "}".repeat(depth));
        let deep = format!("{{\"role\":\"user\",\"content\":{content}}},");
        format!("[{}{answer}]", many(&deep, bytes))
    });
    let ids: Make = Box::new(|bytes| {
        let call = json!({ "role": "assistant", "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "{}" } }] });
        let result = json!({ "role": "tool", "tool_call_id": "a", "content": "b" });
        json!({ "role": "user", "content": "Go" }).to_string()
            + "\n"
            + &many(&format!("{call}\n{result}\n"), bytes)
    });
    let begun: Make = Box::new(|bytes| {
        let record = |text: &str| json!({ "type": "assistant", "sessionId": "s", "message": { "id": "m", "content": [{ "type": "text", "text": text }] } });
        let texts = (0..bytes / 200).map(|index| format!("{}\n", record(&format!("{index:09}"))));
        texts.collect()
    });
    [
        ("calls of Gemini twice", gemini),
        ("nested parts", parts),
        ("one id", ids),
        ("texts of an answer", begun),
    ]
    .map(|(name, make)| (name.to_owned(), make))
    .into()
}
