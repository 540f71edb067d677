//! Sessions of Kimi Code, and of the Kimi CLI before it.
//!
//! | Kimi Code, Kimi CLI: `wire.jsonl` | a session | |
//!
//! - sessions of Kimi Code in the tests of agent-sessions | 0.29 to 0.38, protocol 1.4; 651e854f | 2026-11-28 | captured
//! - a session of Kimi CLI in the tests of moraine, compared with its source | protocol 1.9; 517b648, 4a550eff | 2026-11-28 | written

use super::prelude::*;

pub const FORMAT: Format = sessions::format::<Session>("kimi-code", fits);

fn fits(record: Value, kind: Option<&str>) -> bool {
    match kind {
        Some("metadata") => record.has("protocol_version"),
        Some("context.append_message" | "context.append_loop_event" | "turn.prompt") => true,
        Some(_) => false,
        None => record.has("timestamp") && record.object("message").object("payload").is_some(),
    }
}

const USAGE: [&str; 4] = ["inputOther", "output", "inputCacheRead", "inputCacheCreation"];
const CLI_USAGE: [&str; 4] = ["input_other", "output", "input_cache_read", "input_cache_creation"];

#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn begins<'d>(&self, record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        (record.text("type")? == "metadata").then_some(None)
    }

    fn takes(&self, record: Value, kind: &str) -> bool {
        (record.has("time") && kind.contains('.')) || (kind.is_empty() && fits(record, None))
    }

    fn time(record: Value<'_>) -> Option<Value<'_>> {
        record.first(&["time", "timestamp", "created_at"])
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        run.facts.collected.launchers = &["Agent", "AgentSwarm"];
        let own = record.object("message").filter(|_| !record.has("type"));
        let wire = own.or_else(|| record.object("event")).unwrap_or(record);
        let kind = wire.text("type").unwrap_or("?");
        let value = wire.object("payload").unwrap_or(wire);
        match kind {
            "context.append_message" => read_message(record.object("message"), run),
            "TurnBegin" => {
                run.end_turn();
                let texts = run.read_user_parts(value.member("user_input"));
                run.say_human(&texts);
            }
            "step.begin" | "StepBegin" => run.end_turn(),
            "content.part" | "ContentPart" => {
                let part = value.object("part").unwrap_or(value);
                let turn = run.turn();
                run.read_content(Some(part), turn);
            }
            "tool.call" | "ToolCall" => {
                let turn = run.turn();
                run.call(call_of_part(value, turn));
            }
            "tool.result" | "ToolResult" => {
                let result = value.first(&["result", "return_value"]);
                let failed = result.and_then(flag);
                let output = text_of(result.member("output"), &mut run.skipped);
                let id = value.first_name(&["toolCallId", "tool_call_id"]);
                run.tool_result(id, output, failed.or(Some(false)));
            }
            _ => {
                read_other(record, kind, value, run);
                run.skipped.add_record(kind);
            }
        }
    }
}

/// Reads a message, whose origin says whether a person wrote it.
fn read_message(message: Option<Value>, run: &mut Run) {
    run.end_turn();
    let origin = message.object("origin").text("kind");
    if message.text("role") != Some("user") {
        run.skipped.add_role(message.text("role").or(Some("?")));
    } else if origin.is_some_and(|origin| origin != "user") {
        run.skipped.add("context");
    } else {
        let texts = run.read_user_parts(message.member("content"));
        run.say_human(&texts);
    }
}

fn read_other(record: Value, kind: &str, value: Value, run: &mut Run) {
    match kind {
        "config.update" => {
            run.instruct(record.member("systemPrompt"));
            run.facts.place(record.name("cwd"), None);
        }
        "llm.request" => run.facts.model(record.name("model")),
        "usage.record" => run.facts.add(Tokens::of(record.object("usage"), USAGE)),
        "StatusUpdate" => run.facts.add(Tokens::of(value.object("token_usage"), CLI_USAGE)),
        "turn.cancel" | "StepInterrupted" => run.facts.interruptions += 1,
        "permission.record_approval_result" => {
            let decision = record.object("result").text("decision");
            if let Some(id) = record.name("toolCallId").filter(|_| decision == Some("rejected")) {
                run.seen.deny(id);
            }
        }
        _ => {}
    }
}
