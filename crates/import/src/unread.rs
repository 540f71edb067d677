//! Logs that are not read, and the way to import their runs.

use crate::json::{Array, Members, Value};

pub const SQLITE: &[u8] = b"SQLite format 3";
pub const FOUND_SQLITE: &str = "expected a log, found an SQLite database; export the session, for example with `opencode export`";

/// Returns what a value of no format is, with the way to import it.
pub fn named(value: Value) -> Option<&'static str> {
    let is_autogen = |kind: &str| kind == "TextMessage" || kind.starts_with("ToolCall");
    let known = [
        (
            value.has("sessionID") && (value.has("messageID") || value.has("role")),
            "a file of opencode's storage folder; import the output of `opencode export`",
        ),
        (
            value.has("source") && value.text("type").is_some_and(is_autogen),
            "messages of AutoGen; convert them to messages with `role` and `content`",
        ),
        (
            value.has("appName") && value.has("events"),
            "a session of ADK; import the OpenTelemetry spans of its runs",
        ),
        (
            value.list("conversations").and_then(Array::first).has("from"),
            "a data set of ShareGPT; convert `conversations` to messages with `role` and `content`",
        ),
        (
            value.has("custom_id"),
            "answers of OpenAI's batch API; import objects with the body of each request as `request` \
             and that of its answer as `response`",
        ),
        (
            value.object("values").list("messages").is_some(),
            "a state of LangGraph; import its `values.messages`",
        ),
        (
            value.list("requests").is_some() && value.has("responderUsername"),
            "a chat session of VS Code, which cannot be imported",
        ),
    ];
    known.into_iter().find_map(|(is_it, found)| is_it.then_some(found))
}
