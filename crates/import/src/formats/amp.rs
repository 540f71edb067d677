//! Threads of Amp.
//!
//! | Amp: threads | a thread | |
//!
//! - threads | `v` 85 | 2026-11-26 | written

use crate::{messages::content, prelude::*};

pub const FORMAT: Format = Format::code("amp", fits, || Box::new(read));

fn fits(thread: Value, _kind: Option<&str>) -> bool {
    let first = thread.list("messages").and_then(Array::first);
    first.text("role").is_some() && first.get("messageId").and_then(Value::as_number).is_some()
}

fn read(thread: Value, out: &mut Sink) {
    let mut run = Run {
        key: thread.name("id").map(Into::into),
        created_at: thread.member("created").and_then(time::utc),
        ..out.begin()
    };
    run.read_each(thread.get("messages"), |run, message| match message.text("role") {
        Some("assistant") => run.read_message(message),
        Some("user") => run.read_user_by(content(message), read_result),
        role => run.skipped.add_role(role),
    });
    out.run(run);
}

fn read_result(run: &mut Conversation, kind: &str, part: Value) {
    if kind != "tool_result" {
        return run.skipped.add_part(kind);
    }
    let id = Part(part).id().map(Into::into);
    let tool = part.object("run");
    let refused = tool.text("status") == Some("rejected-by-user");
    let result = result(tool, run);
    run.events.extend(result.map(|result| Event::Result(ToolResult { id, refused, ..result })));
}

/// Returns the result of a tool; `None` if there is none yet.
fn result(tool: Option<Value>, run: &mut Conversation) -> Option<ToolResult> {
    let status = tool.text("status").unwrap_or_default();
    let result = tool.member("result");
    let (value, flag) = if matches!(status, "error" | "cancelled" | "rejected-by-user") {
        let message = tool.object("error").member("message");
        (message.or_else(|| tool.first(&["error", "reason", "result"])), Some(true))
    } else if result.is_some() || status == "done" {
        let text = ["output", "content"]
            .iter()
            .find_map(|name| result.member(name).filter(|text| text.is_string()));
        (text.or(result), has_failed(result.get("exitCode")))
    } else {
        return None;
    };
    Some(text_of(value, &mut run.skipped).into_result(flag))
}
