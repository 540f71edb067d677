//! Logs that are not read, and the way to import their runs.

use crate::{
    error::{Code, Error},
    format::{Format, FormatReader, Sink, open},
    json::{Array, Members, Value},
};

pub const SQLITE: &[u8] = b"SQLite format 3";
pub const FOUND_SQLITE: &str = "expected a log, found an SQLite database; export the session, for example with `opencode export`";

/// The logs of tools that are not read. They are no format of the report.
pub const FORMAT: Format = Format {
    name: "",
    domain: "",
    fits: |value, _kind| named(value).is_some(),
    open: open::<Unread>,
};

/// Remembers what it finds, and says so at the end.
#[derive(Default)]
pub struct Unread {
    found: Vec<&'static str>,
}

impl FormatReader for Unread {
    fn read(&mut self, value: Value, out: &mut Sink) {
        out.skip("unknown_record");
        let new = named(value).filter(|found| !self.found.contains(found));
        self.found.extend(new);
    }

    fn finish(&mut self, out: &mut Sink) {
        for found in &self.found {
            let found = format!("expected a log of a known format, found {found}");
            let error = Error::new(Code::UnknownFormat, &out.report.name, None, &found);
            out.done(Err(error));
        }
    }
}

/// The members of which each of these logs has one, sorted. Most other values have none.
const NAMES: [&str; 25] = [
    "appName", "app_name", "attributes", "conversations", "custom_id", "data", "delegationDepth",
    "history", "jsonrpc", "k", "messageId", "messages", "observations", "parts", "payload",
    "resourceLogs", "resourceMetrics", "resourceSpans", "sessionID", "session_state", "source",
    "span_name", "specversion", "v", "values",
];

/// Returns what a value that is not read is, with the way to import it.
fn named(value: Value) -> Option<&'static str> {
    if !value.members().any(|(name, _)| NAMES.binary_search(&name).is_ok()) {
        return None;
    }
    let kind = value.text("type").unwrap_or_default();
    let has = |names: &[&str]| names.iter().all(|name| value.has(name));
    let first = |name: &str| value.list(name).and_then(Array::first);
    Some(if has(&["sessionID", "messageID"]) || has(&["sessionID", "role"]) {
        "a file of opencode's storage folder; import the output of `opencode export`"
    } else if has(&["source"]) && (kind == "TextMessage" || kind.starts_with("ToolCall")) {
        "messages of AutoGen; convert them to messages with `role` and `content`"
    } else if has(&["appName", "events"]) || has(&["app_name", "events"]) {
        "a session of ADK; import the OpenTelemetry spans of its runs"
    } else if first("conversations").has("from") && !first("conversations").has("value") {
        "a data set of ShareGPT whose turns lack `value`"
    } else if has(&["custom_id"]) && (has(&["response"]) || has(&["body"])) && !has(&["request"]) {
        "answers of OpenAI's batch API; import objects with the body of each request as `request` and that of its \
         answer as `response`"
    } else if has(&["delegationDepth"]) || (has(&["seq", "data"]) && kind.contains('/')) {
        "a session of DeepSeek Harness; convert it to messages with `role` and `content`"
    } else if first("history").object("message").is_some() {
        "a session of Continue; convert its `history` to messages with `role`, `content` and `tool_calls`"
    } else if has(&["jsonrpc"]) {
        "JSON-RPC, as in recordings of the Agent Client Protocol; import the log that the agent itself keeps"
    } else if has(&["source"])
        && ((value.text("action").is_some() && has(&["args"]))
            || (value.text("observation").is_some() && has(&["extras"])))
    {
        "a trajectory of OpenHands V0; convert it to messages with `role` and `content`"
    } else if first("parts").has("part_kind") {
        "messages of Pydantic AI; import the OpenTelemetry spans of its runs"
    } else if value.text("object") == Some("list") && first("data").has("type") {
        "a list of the items of an OpenAI conversation; import its `data` alone, the oldest item first"
    } else if has(&["span_name", "start_timestamp"]) {
        "rows of Pydantic Logfire; import the spans that it is sent, as OpenTelemetry exports them"
    } else if value.object("values").list("messages").is_some() {
        "a state of LangGraph; import its `values.messages`"
    } else if has(&["k", "kind"])
        || (value.object("v").has("requests") && !value.object("v").has("creationDate"))
    {
        "a chat session of VS Code that lacks its beginning"
    } else if has(&["session_id", "session_state"]) {
        "the metadata of a session of the Kiro CLI; import the `.jsonl` beside it"
    } else if ["executionId", "agentType"].iter().any(|name| value.object("payload").has(name))
        || first("history").object("assistant").is_some()
    {
        "a session of Kiro's IDE, which cannot be imported"
    } else if first("messages").list("versions").is_some() {
        "a conversation of LM Studio; convert it to messages with `role` and `content`"
    } else if has(&["sessionId", "messageId"]) && value.text("message").is_some() {
        "Gemini CLI's list of prompts (`logs.json`); import the sessions in `chats` beside it"
    } else if has(&["specversion", "source"]) {
        "CloudEvents; import the `data` of those that have a log"
    } else if value.object("data").list("spans").is_some()
        && (value.object("info").first_name(&["trace_id", "request_id"]).is_some())
    {
        "a trace of MLflow; import its spans as OpenTelemetry exports them"
    } else if value
        .list("observations")
        .or_else(|| first("data")?.list("observations"))
        .and_then(Array::first)
        .is_some_and(Value::is_string)
    {
        "an item of Langfuse's list of traces, whose `observations` are ids; import each trace as \
         `GET /api/public/traces/{id}` returns it"
    } else if name_of_telemetry(value).is_some_and(|name| name.starts_with("claude_code.")) {
        "Claude Code's own telemetry, which is no log of a session; import the files in `~/.claude/projects`"
    } else {
        return None;
    })
}

/// Returns the name of the first span, metric or log record of OpenTelemetry.
fn name_of_telemetry(value: Value<'_>) -> Option<&str> {
    let names = [
        ["resourceSpans", "scopeSpans", "spans"],
        ["resourceLogs", "scopeLogs", "logRecords"],
        ["resourceMetrics", "scopeMetrics", "metrics"],
    ];
    let first =
        |names: [&str; 3]| names.iter().try_fold(value, |value, name| value.list(name)?.first());
    let item = names.into_iter().find_map(first);
    item.or_else(|| Some(value).filter(|value| value.has("attributes")))
        .text("name")
        .or_else(|| item.object("body").text("stringValue"))
}
