//! The output of `codex exec --json`, which lacks what the user wrote.

use crate::{call::qualified, prelude::*};

pub(super) fn fits(record: Value, kind: Option<&str>) -> bool {
    match kind {
        Some("turn.started" | "turn.completed" | "turn.failed") => true,
        Some("item.started" | "item.updated" | "item.completed") => record.object("item").is_some(),
        Some("thread.started") => thread(record).is_some(),
        _ => false,
    }
}

/// Returns the id of the thread that a record begins, or goes on with.
pub(super) fn thread(record: Value<'_>) -> Option<&str> {
    record.text("type").filter(|kind| *kind == "thread.started")?;
    record.text("thread_id")
}

pub(super) fn read(record: Value, kind: &str, run: &mut Run) {
    let item = record.object("item");
    match (kind, item.text("type").unwrap_or("?"), item) {
        // The ids of items begin again.
        ("thread.started", ..) => (run.turns, run.places) = (Ids::default(), Ids::default()),
        ("turn.completed" | "turn.failed", ..) => {
            run.has_failed = kind == "turn.failed";
        }
        (_, kind_of_item, Some(item)) => {
            let is_complete = kind == "item.completed";
            if read_item(item, kind_of_item, is_complete, run) {
                return;
            }
            if is_complete {
                return run.skipped.add_part(kind_of_item);
            }
        }
        _ => {}
    }
    run.skipped.add_record(kind);
}

/// Reads an item. Returns whether it is a step.
fn read_item(item: Value, kind: &str, is_complete: bool, run: &mut Run) -> bool {
    let of = |names: &[&'static str]| {
        CallInput::of(names.iter().filter_map(|name| Some((*name, item.member(name)?))))
    };
    let (name, input) = match (kind, item.text("text")) {
        ("agent_message" | "reasoning", Some(text)) if is_complete => {
            let said = kind == "agent_message";
            run.events.push(Event::Thought { text: text.into(), said });
            return true;
        }
        ("command_execution" | "file_change" | "web_search", _) => {
            (kind.into(), of(&["command", "changes", "query", "action"]))
        }
        ("collab_tool_call", _) => {
            let tool = item.text("tool").unwrap_or_default();
            (tool.into(), of(&["prompt", "receiver_thread_ids"]))
        }
        ("mcp_tool_call", _) => {
            let [server, tool] = ["server", "tool"].map(|name| item.text(name).unwrap_or_default());
            let name = format!("mcp__{}", qualified(server, tool));
            (name, CallInput::recorded(item.member("arguments")))
        }
        _ => return false,
    };
    let id = item.name("id");
    let call = Call::new(Some(&name), input, id, run.turn_of(id));
    let has_result = is_complete && kind != "web_search";
    let result = has_result.then(|| Event::Result(call.answer(result(item, kind, run))));
    run.put(Event::Call(call));
    if let Some(id) = id.filter(|_| is_complete) {
        run.turns.remove(id);
    }
    run.events.extend(result);
    true
}

fn result(item: Value, kind: &str, run: &mut Run) -> ToolResult {
    let error = item.member("error");
    let value = match kind {
        "collab_tool_call" => item.member("agents_states"),
        _ => item
            .first(&["aggregated_output", "result"])
            .or_else(|| error.member("message"))
            .or(error),
    };
    let has_failed = matches!(item.text("status"), Some("failed" | "declined"))
        || error.is_some()
        || has_failed(item.get("exit_code")) == Some(true)
        || item.object("result").flag("isError") == Some(true);
    let is_by_text = kind == "mcp_tool_call" && !has_failed;
    text_of(value, &mut run.skipped).into_result((!is_by_text).then_some(has_failed))
}
