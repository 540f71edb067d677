//! Sessions of opencode: exports, and `opencode run --format json`.
//!
//! | opencode: `opencode export`, `opencode session export` (2.0); `opencode run --format json`, which lacks what the user wrote, so give `objective` | a session | an error of the last answer; a failure at the end (2.0) |
//!
//! - a session in the tests of agent-sessions | 651e854f | 2026-11-22 | captured
//! - exports and streams | 1.3.17 | 2026-11-22 | source
//! - `opencode session export`, exit codes of the stream | 2.0 | 2026-11-29 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("opencode", fits, || {
    sessions(Rules {
        begins: |(), record, open| match record.object("info") {
            Some(info) if is_export(record) => Some(info.name("id")),
            _ => another(record.name("sessionID"), open),
        },
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(object: Value, kind: Option<&str>) -> bool {
    let is_record = |kind| kind == "error" || object.object("part").is_some();
    is_export(object) || (object.name("sessionID").is_some() && kind.is_some_and(is_record))
}

fn is_export(object: Value) -> bool {
    let first = object.list("messages").and_then(Array::first);
    let is_message = first.object("info").is_some() && first.list("parts").is_some();
    object.object("info").is_some() && is_message || is_export_of_2(object)
}

/// Returns whether an object is an export of opencode 2.
fn is_export_of_2(object: Value) -> bool {
    let first = object.list("messages").and_then(Array::first);
    let is_message = first.name("id").and(first.name("type")).and(first.object("time")).is_some();
    let is_other = first.has("info") || first.has("role");
    object.object("info").name("id").is_some() && is_message && !is_other
}

/// Reads an export, or a part of an answer in a stream.
fn read(record: Value, run: &mut Run) {
    if let Some(info) = record.object("info").filter(|_| is_export(record)) {
        run.left_out = info.text("parentID").map(|_| "subagent");
        run.created_at = info.object("time").member("created").and_then(time::utc);
        let location = info.object("location").name("directory");
        run.facts.place(location.filter(|_| is_export_of_2(record)), None);
        let messages = run.skipped.objects(record.member("messages"));
        return messages.for_each(|message| read_message(message, run));
    }
    match (record.text("type").unwrap_or("?"), record.object("part")) {
        ("text" | "reasoning" | "tool_use" | "step_start", Some(part)) => {
            read_part(run, part);
            run.end_step();
        }
        (kind, _) => run.skipped.add_record(kind),
    }
}

/// The tools that launch sub-agents.
const LAUNCHERS: &[&str] = &["task", "subagent"];

/// Reads a message, which has in opencode 2 itself what another has in `info`.
fn read_message(message: Value, run: &mut Run) {
    let info = message.object("info");
    let time = info.unwrap_or(message).object("time");
    run.record(time.member("created"), |run| match info {
        Some(_) => read_parts(info, message.member("parts"), run),
        None => read_message_of_2(message, run),
    });
    let info = info.unwrap_or(message);
    run.facts.at(time.member("completed"), false);
    run.facts.collected.launchers = LAUNCHERS;
    run.facts.place(info.object("path").name("cwd"), None);
    run.facts.model(info.name("modelID").or_else(|| info.object("model").name("id")));
    let usage = info.object("tokens");
    let tokens = Tokens::of(usage, ["input", "output", "cache/read", "cache/write"]);
    run.facts.add(tokens.map(|tokens| tokens.with_reasoning(usage.get("reasoning"))));
    let error = info.object("error");
    let is_aborted = error.text("name") == Some("MessageAbortedError");
    run.facts.interruptions += u64::from(is_aborted);
    if info.text("role") == Some("assistant") {
        run.has_failed = error.is_some() && !is_aborted;
    }
}

fn read_parts(info: Option<Value>, parts: Option<Value>, run: &mut Run) {
    match info.text("role") {
        Some("user") => {
            run.instruct(info.member("system"));
            let mut texts = Vec::new();
            run.read_each(parts, |run, part| match part.text("type") {
                Some("text") => texts.extend(text(part, run)),
                _ => run.skip_as_part(part),
            });
            run.say_human(&texts);
        }
        Some("assistant") if info.flag("summary") == Some(true) => {
            run.skipped.add("compact_summary");
        }
        Some("assistant") => read_answer(parts, run),
        role => run.skipped.add_role(role),
    }
}

fn read_message_of_2(message: Value, run: &mut Run) {
    match message.text("type").unwrap_or("?") {
        "user" => {
            run.events.extend(message.text("text").map(|text| Event::Human(text.into())));
            run.skipped.add_many("part:file", message.elements("files").count() as u64);
        }
        "assistant" => read_answer(message.member("content"), run),
        "system" => run.read_system(message.member("text")),
        "synthetic" => run.skipped.add("synthetic"),
        "shell" => run.skipped.add("user_tool"),
        "compaction" => run.skipped.add("compact_summary"),
        kind => {
            if let ("idle", Some(outcome @ ("succeeded" | "failed"))) =
                (kind, message.text("outcome"))
            {
                run.has_failed = outcome == "failed";
            }
            run.skipped.add_record(kind);
        }
    }
}

fn read_answer(parts: Option<Value>, run: &mut Conversation) {
    run.end_turn();
    run.read_each(parts, read_part);
    run.end_step();
}

fn text<'d>(part: Value<'d>, run: &mut Conversation) -> Option<&'d str> {
    let text = part.text("text");
    if text.is_none() {
        run.skip_as_part(part);
    } else if part.flag("synthetic") == Some(true) || part.flag("ignored") == Some(true) {
        run.skipped.add("synthetic");
        return None;
    }
    text
}

fn read_part(run: &mut Conversation, part: Value) {
    match part.text("type") {
        Some("step-start") => {
            run.end_step();
            run.end_turn();
        }
        Some(kind @ ("text" | "reasoning")) => {
            let said = kind == "text";
            let text = text(part, run).map(Into::into);
            run.events.extend(text.map(|text| Event::Thought { text, said }));
        }
        Some("tool") => read_tool(part, run),
        kind => run.skip_unknown(kind.unwrap_or("?"), part),
    }
}

/// Reads a call, whose members have other names in opencode 2.
fn read_tool(part: Value, run: &mut Conversation) {
    let state = part.object("state");
    let status = state.text("status").unwrap_or_default();
    if matches!(status, "pending" | "streaming") {
        return run.skipped.add("partial_call");
    }
    let turn = run.turn();
    let name = part.first_name(&["tool", "name"]);
    // The tool that answers calls with invalid arguments.
    let is_invalid = name == Some("invalid");
    let name = state.object("input").name("tool").filter(|_| is_invalid).or(name);
    let input = CallInput::recorded(state.member("input"));
    let call = Call::new(name, input, part.first_name(&["callID", "id"]), turn);
    let message = state.object("error").member("message").filter(|message| message.is_string());
    let value = match status {
        "error" => message.or_else(|| state.first(&["content", "error"])),
        "completed" => state.first(&["output", "content"]),
        _ => state.member("output"),
    };
    let metadata = state.first(&["metadata", "structured"]);
    // As in the stream of opencode 2.
    let exit = metadata.get("exit").or_else(|| metadata.object("metadata").get("exit"));
    let exit = has_failed(exit);
    let is_error = status == "error";
    let has_failed = if is_error || is_invalid { Some(true) } else { exit };
    let result = (value.is_some() || is_error)
        .then(|| text_of(value, &mut run.skipped).into_result(has_failed));
    run.call_with_result(call, result);
    run.read_each(state.member("attachments"), Conversation::skip_as_part);
}
