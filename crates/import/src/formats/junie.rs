//! Sessions of Junie.
//!
//! | Junie (CLI, JetBrains IDEs): `events.jsonl` | a session | a failure of the agent at the end |
//!
//! - the readers of superbased-observer and of JunieViewer, which describe sessions of the CLI and of IntelliJ | 2026.2 | 2026-11-29 | source
//! - a session | | 2026-11-29 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("junie", fits, || {
    sessions(Rules {
        takes: |(), record, kind| {
            kind.is_empty()
                && (fits(record, None) || record.has("timestampMs") && record.has("kind"))
        },
        time: |record| record.member("timestampMs"),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind.is_none()
        && match record.text("kind") {
            Some("UserPromptEvent") => record.text("prompt").is_some(),
            Some("SessionA2uxEvent") => record.object("event").is_some(),
            _ => false,
        }
}

const USAGE: [&str; 4] = ["inputTokens", "outputTokens", "cacheInputTokens", "cacheCreateTokens"];

/// The members that have the input of a call.
const INPUTS: [&str; 4] = ["command", "files", "changes", "name"];

fn read(record: Value, run: &mut Run) {
    let event = record.object("event").object("agentEvent");
    let kind = event.text("kind").or_else(|| record.text("kind")).unwrap_or("?");
    match (kind, event) {
        ("UserPromptEvent", _) => {
            run.end_turn();
            run.has_failed = false;
            run.say_human(&Vec::from_iter(record.text("prompt")));
        }
        (_, Some(block)) if kind.ends_with(BLOCK) && kind != "ToolBlockUpdatedEvent" => {
            read_block(block, kind.trim_end_matches(BLOCK), run);
        }
        _ => {
            run.skipped.add_record(kind);
            read_other(kind, event, run);
        }
    }
}

/// The end of the kinds of blocks. That of `Tool` describes another one.
const BLOCK: &str = "BlockUpdatedEvent";

/// Reads a block, of which each record has all that is known.
fn read_block(block: Value, kind: &str, run: &mut Run) {
    let text = |name| block.text(name).unwrap_or_default();
    let event = match kind {
        "AgentThought" => Event::reasoned(text("text")),
        "Markdown" => Event::said(text("text")),
        "Result" => Event::said(text("result")),
        _ => return read_call(block, kind, run),
    };
    run.facts.interruptions += u64::from(block.flag("cancelled") == Some(true));
    let next = run.events.len() as u32;
    let place = run.places.get_or_insert(block.name("stepId"), || next);
    if place == next {
        run.events.push(event);
    } else {
        run.events.replace(place as usize, event);
    }
}

fn read_call(block: Value, kind: &str, run: &mut Run) {
    let id = block.name("stepId");
    let earlier = id.and_then(|id| run.places.get(id)).map(|place| place as usize);
    let is_answered = earlier.is_some_and(|place| run.events[place].call().is_none());
    if !is_answered {
        let turn = earlier.and_then(|place| Some(run.events[place].call()?.turn));
        let turn = turn.unwrap_or_else(|| run.turn());
        let members = INPUTS.iter().filter_map(|name| Some((*name, block.member(name)?)));
        let input = block.member("input").map(|input| CallInput::recorded(Some(input)));
        let input = input.unwrap_or_else(|| CallInput::of(members));
        let call = Call::new(block.name("toolName").or(Some(kind)), input, id, turn);
        run.put(Event::Call(call));
    }
    let status = block.text("status").unwrap_or("COMPLETED");
    if matches!(status, "COMPLETED" | "FAILED") {
        let output = text_of(block.first(&["output", "details"]), &mut run.skipped);
        let result = output.into_result(Some(status == "FAILED"));
        run.put(Event::Result(ToolResult { id: id.map(Into::into), ..result }));
    }
}

/// Reads the facts of an event that is no step.
fn read_other(kind: &str, event: Option<Value>, run: &mut Run) {
    match kind {
        "LlmResponseMetadataEvent" => {
            run.end_turn();
            for usage in event.elements("modelUsage") {
                run.facts.model(usage.name("model"));
                run.facts.add(Tokens::of(Some(usage), USAGE));
            }
        }
        "CurrentDirectoryUpdatedEvent" => run.facts.place(event.name("currentDirectory"), None),
        "AgentFailureEvent" | "AgentTaskFailedEvent" => run.has_failed = true,
        _ => {}
    }
}
