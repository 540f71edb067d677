//! Sessions of Kimi Code, and of the Kimi CLI before it.
//!
//! | Kimi Code, Kimi CLI: `wire.jsonl` | a session | |
//!
//! - sessions of Kimi Code in the tests of agent-sessions | 0.29 to 0.38, protocol 1.4; 651e854f | 2026-11-28 | captured
//! - migrated sessions, prompts without messages, arguments in parts | protocol 1.0 to 1.10 | 2026-11-29 | written
//! - a session of Kimi CLI in the tests of moraine, compared with its source | protocol 1.9; 517b648, 4a550eff | 2026-11-28 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("kimi-code", fits, || {
    sessions(Rules {
        begins: |_, record, _| (record.text("type")? == "metadata").then_some(None),
        takes: |_, record, kind| {
            (record.has("time") && kind.contains('.')) || (kind.is_empty() && fits(record, None))
        },
        time: |record| record.first(&["time", "timestamp", "created_at"]),
        ..Rules::of(Session::read)
    })
});

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
pub struct Session {
    /// A prompt that may come as a message next.
    prompt: Option<Document<'static>>,
    /// A call, and its arguments, which may go on in parts.
    call: Option<(Call, String)>,
}

impl State for Session {
    fn size(&self) -> usize {
        self.call.as_ref().map_or(0, |(_, arguments)| arguments.len())
            + self.prompt.as_ref().map_or(0, Document::size)
    }

    fn end(mut self, mut run: Run, out: &mut Sink) {
        self.end_call(&mut run);
        self.ask(&mut run);
        out.run(run);
    }
}

impl Session {
    fn read(&mut self, record: Value, run: &mut Run) {
        run.harness = Harness::Kimi;
        run.facts.collected.launchers = &["Agent", "AgentSwarm"];
        let own = record.object("message").filter(|_| !record.has("type"));
        let wire = own.or_else(|| record.object("event")).unwrap_or(record);
        let kind = wire.text("type").unwrap_or("?");
        let value = wire.object("payload").unwrap_or(wire);
        if kind != "ToolCallPart" {
            self.end_call(run);
        }
        match kind {
            "context.append_message" => self.read_message(record.object("message"), run),
            "turn.prompt" if record.object("origin").text("kind").is_none_or(|of| of == "user") => {
                self.prompt = record.member("input").and_then(|input| Document::copy(input).ok());
                run.skipped.add_record(kind);
            }
            "TurnBegin" => run.read_user(value.member("user_input")),
            "step.begin" | "StepBegin" => {
                self.ask(run);
                run.end_turn();
            }
            "content.part" | "ContentPart" => {
                let part = value.object("part").unwrap_or(value);
                let turn = run.turn();
                run.read_content(Some(part), turn);
            }
            "tool.call" | "ToolCall" => {
                let call = call_of_part(value, run.turn());
                let arguments = value.object("function").text("arguments").unwrap_or_default();
                self.call = Some((call, arguments.into()));
            }
            "ToolCallPart" => match (&mut self.call, value.text("arguments_part")) {
                (Some((_, arguments)), Some(part)) => *arguments += part,
                _ => run.skipped.add_record(kind),
            },
            "tool.result" | "ToolResult" => {
                let result = value.first(&["result", "return_value"]);
                let failed = result.and_then(flag);
                let mut output = text_of(result.member("output"), &mut run.skipped);
                if json::is_blank(&output.text) {
                    output.text = result.text("message").unwrap_or_default().into();
                }
                let id = value.first_name(&["toolCallId", "tool_call_id"]);
                run.tool_result(id, output, failed.or(Some(false)));
            }
            _ => {
                read_other(record, kind, value, run);
                run.skipped.add_record(kind);
            }
        }
    }

    fn end_call(&mut self, run: &mut Run) {
        if let Some((call, arguments)) = self.call.take() {
            let is_whole = arguments.is_empty();
            let input = if is_whole { call.input } else { CallInput::of_json(&arguments) };
            run.call(Call { input, ..call });
        }
    }

    /// Reads a prompt that came as no message.
    fn ask(&mut self, run: &mut Run) {
        if let Some(prompt) = self.prompt.take() {
            run.read_user(Some(prompt.root()));
        }
    }

    /// Reads a message, whose origin says whether a person wrote it.
    fn read_message(&mut self, message: Option<Value>, run: &mut Run) {
        run.end_turn();
        let is_of_user = message.text("role") == Some("user");
        let origin = message.object("origin").text("kind").unwrap_or("user");
        match message {
            Some(_) if is_of_user && origin != "user" => run.skipped.add("context"),
            Some(message) => {
                self.prompt = self.prompt.take().filter(|_| !is_of_user);
                run.read_message(message);
            }
            None => run.skipped.add("malformed"),
        }
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
