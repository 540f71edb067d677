//! Sessions of Cline, and files beside the conversation of its tasks and of Roo's, which itself has the format `messages`.
//!
//! | Cline: sessions (4.0); of tasks of Cline and Roo `ui_messages.json` and `task_metadata.json`, which are skipped, while the conversation beside them has the format `messages` | a session | |
//!
//! - files of a task, compared with the source of Cline | | 2026-11-22 | written
//! - sessions, compared with the source of Cline | 4.0 | 2026-11-28 | written

use crate::{messages::is_message, prelude::*};

pub const FORMAT: Format = Format::code("cline", fits, || Box::new(read));

fn fits(object: Value, kind: Option<&str>) -> bool {
    object.list("files_in_context").is_some()
        || (matches!(kind, Some("say" | "ask")) && object.has("ts"))
        || is_session(object)
}

fn is_session(object: Value) -> bool {
    let is_own = object.has("updated_at") || object.has("agent");
    let first = object.list("messages").map(|messages| messages.first().is_none_or(is_message));
    object.name("sessionId").is_some() && object.has("version") && is_own && first == Some(true)
}

fn read(value: Value, out: &mut Sink) {
    if value.list("files_in_context").is_some() {
        return out.skip("task_metadata");
    }
    if !is_session(value) {
        return out.skip("ui_message");
    }
    if value.name("agent").is_some_and(|agent| agent != "lead") {
        return out.skip("subagent");
    }
    let mut run = Run { key: value.name("sessionId").map(Into::into), ..out.begin() };
    run.harness = Harness::Cline;
    run.instruct(value.first(&["systemPrompt", "system_prompt"]));
    for message in run.skipped.objects(value.get("messages")) {
        run.record(message.member("ts"), |run| run.read_message(message));
        run.facts.model(message.object("modelInfo").name("id"));
    }
    out.run(run);
}
