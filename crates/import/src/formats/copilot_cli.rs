//! Sessions of Copilot CLI: `events.jsonl`.
//!
//! | Copilot CLI: `events.jsonl`, `--output-format json` | a session | a failure in `session.task_complete`, an exit code other than 0 |
//!
//! - sessions in the tests of agent-sessions | 1.0.11; 651e854f | 2026-11-22 | captured
//! - exit codes of the shell | 1.0.64 to 1.0.68 | 2026-11-26 | written
//! - prompts of hooks | | 2026-11-28 | written

use std::mem;

use crate::prelude::*;

pub const FORMAT: Format = Format::code("copilot-cli", fits, || {
    sessions(Rules {
        begins: |_, record, _| {
            (record.text("type")? == "session.start")
                .then(|| record.object("data").name("sessionId"))
        },
        takes: |_, record, kind| {
            let is_event = || kind.contains('.') && !record.has("specversion");
            kind == "abort"
                || is_end(record, Some(kind))
                || record.object("data").is_some() && is_event()
        },
        ..Rules::of(Session::read)
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    const SUBJECTS: &str = "session user assistant tool system hook subagent skill permission";
    let subject = kind.and_then(|kind| Some(kind.split_once('.')?.0));
    is_end(record, kind)
        || subject.is_some_and(|subject| SUBJECTS.split(' ').any(|known| known == subject))
            && record.object("data").is_some()
}

/// Returns whether a record is the last one of `--output-format json`, which has no `data`.
fn is_end(record: Value, kind: Option<&str>) -> bool {
    kind == Some("result") && record.has("sessionId") && record.has("exitCode")
}

#[derive(Default)]
pub struct Session {
    /// The calls of the person.
    user_calls: Ids,
    /// Whether the session was shut down.
    has_ended: bool,
    /// The hash of the last reasoning, which comes as an event of its own and with its message; `None` if it is empty.
    reasoning: Option<u64>,
}

impl State for Session {}

impl Session {
    fn read(&mut self, record: Value, run: &mut Run) {
        run.harness = Harness::Copilot;
        let kind = record.text("type").unwrap_or_default();
        if is_end(record, Some(kind)) {
            run.has_failed |= has_failed(record.get("exitCode")) == Some(true);
            run.key = run.key.take().or_else(|| record.name("sessionId").map(Into::into));
            return run.skipped.add("record:result");
        }
        let Some(data) = record.object("data") else {
            let reason = if kind == "abort" { "interruption" } else { "malformed" };
            return run.skipped.add(reason);
        };
        let id = data.name("toolCallId");
        run.facts.subagents.launched += u64::from(kind == "subagent.started");
        let is_of_user = data.flag("isUserRequested") == Some(true)
            || id.is_some_and(|id| self.user_calls.get(id).is_some());
        if record.member("agentId").or_else(|| data.member("parentToolCallId")).is_some() {
            return run.skipped.add("sidechain");
        }
        match kind {
            "user.message" => read_user(data, run),
            "system.message" => run.read_system(data.member("content")),
            "assistant.reasoning" => self.reason(data.text("content"), run),
            "assistant.message" => self.read_answer(data, run),
            "tool.user_requested" => {
                if let Some(id) = id {
                    self.user_calls.insert(id, 0);
                }
                run.skipped.add("user_tool");
            }
            "tool.execution_start" | "tool.execution_complete" if is_of_user => {
                run.skipped.add("user_tool");
            }
            "tool.execution_start" => {
                if id.is_some_and(|id| run.places.insert(id, 0).is_some()) {
                    return run.skipped.add("repeated");
                }
                let turn = run.next_turn();
                run.call(call_of_part(data, turn));
            }
            "tool.execution_complete" => {
                if let Some(id) = id {
                    run.places.remove(id);
                }
                read_result(data, id, run);
            }
            "abort" => run.skipped.add("interruption"),
            kind => {
                if let ("session.task_complete", Some(success)) = (kind, data.flag("success")) {
                    run.has_failed = !success;
                }
                let context = data.object("context");
                run.facts.place(context.name("cwd"), context.name("branch"));
                let prompt = data.object("input").name("prompt").filter(|_| kind == "hook.start");
                let prompt = prompt.map(|prompt| (prompt.into(), Origin::Human));
                run.fallback = run.fallback.take().or(prompt);
                self.read_usage(kind, data, run);
                run.skipped.add_record(kind);
            }
        }
    }

    fn reason(&mut self, text: Option<&str>, run: &mut Run) {
        let Some(text) = text else { return };
        let reasoning = (!text.is_empty()).then(|| hash(text));
        if reasoning == self.reasoning {
            return run.skipped.add("repeated");
        }
        self.reasoning = reasoning;
        run.events.push(Event::reasoned(text));
    }

    /// Reads the usage of the session. That of a resumed one stays unknown: it may begin anew, or not.
    fn read_usage(&mut self, kind: &str, data: Value, run: &mut Run) {
        const USAGE: [&str; 4] =
            ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
        if kind != "session.shutdown" {
            return;
        }
        run.facts.tokens = None;
        let models =
            data.object("modelMetrics").filter(|_| !mem::replace(&mut self.has_ended, true));
        for (_, metrics) in models.into_iter().flat_map(Value::members) {
            let tokens = Tokens::of(metrics.object("usage"), USAGE);
            run.facts.add(tokens.map(Tokens::without_cache));
        }
    }

    fn read_answer(&mut self, data: Value, run: &mut Run) {
        run.facts.tokens = None;
        run.facts.model(data.name("model"));
        self.reason(data.text("reasoningText"), run);
        let request = data.name("apiCallId");
        let turn = run.turn_of(request);
        let turn = run.read_content(data.member("content"), turn);
        if let Some(id) = request {
            run.turns.insert(id, turn);
        }
        run.read_each(data.member("toolRequests"), |run, request| {
            let call = call_of_part(request, turn);
            if let Some(id) = &call.id {
                run.places.insert(id, 0);
            }
            run.call(call);
        });
    }
}

fn read_user(data: Value, run: &mut Run) {
    let is_own = data.member("source").is_none_or(|source| source.as_str() == Some("user"));
    if !is_own || data.flag("isAutopilotContinuation") == Some(true) {
        return run.skipped.add("context");
    }
    let content = data
        .member("content")
        .filter(|content| content.as_str().is_none_or(|text| !json::is_blank(text)));
    match data.name("transformedContent").filter(|_| content.is_none()) {
        Some(text) => run.read_texts(vec![text.into()]),
        None => run.read_user(data.member("content")),
    }
    run.read_each(data.member("attachments"), Conversation::skip_as_part);
}

fn read_result(data: Value, id: Option<&str>, run: &mut Run) {
    let result = data.member("result");
    let value = result
        .first(&["content", "detailedContent"])
        .or(result)
        .or_else(|| data.object("error").member("message"));
    let output = text_of(value, &mut run.skipped);
    run.read_each(result.member("binaryResultsForLlm"), Conversation::skip_as_part);
    let metrics = data.object("toolTelemetry").object("metrics");
    let has_failed =
        data.flag("success") == Some(false) || has_failed(metrics.get("exit_code")) == Some(true);
    run.tool_result(id, output, has_failed.then_some(true).or_else(|| flag(data)));
}
