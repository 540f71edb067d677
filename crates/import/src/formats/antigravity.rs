//! Transcripts of the Antigravity CLI.
//!
//! | Antigravity CLI: `transcript.jsonl` | a transcript | |
//!
//! - transcripts in the tests of agent-sessions and codeburn | 1.1.14; 651e854f, ed8fa3af | 2026-11-28 | captured
//! - failures, errors in the place of results | 1.1 | 2026-11-29 | written

use crate::prelude::*;

pub const FORMAT: Format = Format::code("antigravity", fits, || {
    sessions(Rules {
        begins: |(), record, _| {
            let is_first = record.get("step_index")?.as_integer() == Some(0);
            (is_first && record.text("source") == Some("USER_EXPLICIT")).then_some(None)
        },
        takes: |(), record, kind| fits(record, Some(kind)),
        time: |record| record.member("created_at"),
        ..Rules::of(|(), record, run| read(record, run))
    })
});

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()))
        && record.has("step_index")
        && record.text("source").is_some()
}

fn read(record: Value, run: &mut Run) {
    run.harness = Harness::Antigravity;
    let content = record.text("content").unwrap_or_default();
    run.skipped.add_many("truncated", record.elements("truncated_fields").count() as u64);
    match (record.text("type").unwrap_or_default(), record.text("source")) {
        ("USER_INPUT", _) => read_user(content, run),
        ("PLANNER_RESPONSE", _) => {
            run.end_turn();
            run.events.extend(record.name("thinking").map(Event::reasoned));
            run.events.extend(record.name("content").map(Event::said));
            run.read_each(record.member("tool_calls"), |run, call| {
                let input = input(call.object("args"));
                run.tool_call(call.name("name"), input, None);
            });
        }
        (kind, source)
            if kind == "ERROR_MESSAGE"
                || source == Some("MODEL") && (record.has("content") || kind != "GENERIC") =>
        {
            let is_error = kind == "ERROR_MESSAGE" || record.text("status") == Some("ERROR");
            let failed = is_error.then_some(true);
            let output = text_of(record.member("content"), &mut run.skipped);
            run.tool_result(None, output, failed);
        }
        (kind, _) => run.skipped.add_record(kind),
    }
}

/// Returns the input of a call, each argument of which is JSON in a string.
fn input(args: Option<Value>) -> CallInput {
    CallInput::of_each(|add| {
        args.into_iter().flat_map(Value::members).try_for_each(|(name, value)| {
            match value.as_str().map(Document::parse) {
                Some(Ok(document)) => add(name, document.root()),
                _ => add(name, value),
            }
        })
    })
}

/// Reads what a person asked, among what the program added.
fn read_user(content: &str, run: &mut Run) {
    run.facts.collected.is_person = true;
    let change = content.split_once("`Model Selection` from ");
    let model = change.and_then(|(_, change)| change.lines().next()?.split_once(" to "));
    let name = model.map(|(_, model)| model.split(". ").next().unwrap_or(model));
    run.facts.model(name.map(|name| name.trim_end_matches('.')));
    run.read_texts(vec![content.into()]);
}
