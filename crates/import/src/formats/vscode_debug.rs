//! Debug logs of chats in VS Code.
//!
//! | VS Code (Copilot Chat): `debug-logs/ID/main.jsonl` | a session | an error of the last request to the model |
//!
//! - `chatDebugFileLoggerService.ts` of Copilot Chat | | 2026-11-29 | source
//! - a session | 0.65 | 2026-11-29 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("vscode-debug", fits, || {
    sessions(Rules {
        begins: |(), record, open| another(record.name("sid"), open),
        time: |record| record.member("ts"),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind.and(record.object("attrs")).is_some()
        && ["ts", "sid", "spanId"].iter().all(|name| record.has(name))
}

const USAGE: [&str; 4] = ["inputTokens", "outputTokens", "cachedTokens", ""];

/// The end of a text that was cut.
const CUT: &str = "[truncated]";

fn read(record: Value, run: &mut Run) {
    let attributes = record.object("attrs");
    let has_failed = record.text("status") == Some("error");
    let texts = ["content", "args", "result", "response", "reasoning"];
    let texts = texts.iter().filter_map(|name| attributes.text(name));
    run.skipped.add_many("truncated", texts.filter(|text| text.ends_with(CUT)).count() as u64);
    match record.text("type").unwrap_or("?") {
        "user_message" => {
            run.end_turn();
            run.say_human(&Vec::from_iter(attributes.text("content")));
        }
        "agent_response" => read_answer(attributes, run),
        "tool_call" => {
            let (turn, id) = (run.turn(), record.name("spanId"));
            let input = CallInput::recorded(attributes.member("args"));
            run.call(Call::new(record.name("name"), input, id, turn));
            let output = text_of(attributes.first(&["result", "error"]), &mut run.skipped);
            run.tool_result(id, output, Some(has_failed));
        }
        kind => {
            if kind == "llm_request" {
                run.facts.model(attributes.name("model"));
                run.facts.add(Tokens::of(attributes, USAGE).map(Tokens::without_cache));
                run.has_failed = has_failed;
            }
            run.skipped.add_record(kind);
        }
    }
}

/// Reads the texts of an answer, whose calls have records of their own.
fn read_answer(attributes: Option<Value>, run: &mut Run) {
    run.end_turn();
    let response = attributes.member("response");
    // What was cut is no JSON.
    let response =
        response.filter(|response| !response.as_str().is_some_and(|text| text.ends_with(CUT)));
    let messages = response.and_then(|response| messages_of(response, Side::Output));
    let answer = messages.as_ref().map(Conversation::of).unwrap_or_default();
    run.skipped.merge(answer.skipped);
    let is_reasoned = |event: &Event| matches!(event, Event::Thought { said: false, .. });
    let reasoning = attributes.name("reasoning");
    let reasoning = reasoning.filter(|_| !answer.events.iter().any(is_reasoned));
    run.events.extend(reasoning.map(Event::reasoned));
    for event in answer.events {
        match event {
            Event::Thought { .. } => run.events.push(event),
            _ => run.skipped.add("repeated"),
        }
    }
}
