//! Transcripts of the Antigravity CLI.
//!
//! | Antigravity CLI: `transcript.jsonl` | a transcript | |
//!
//! - transcripts in the tests of agent-sessions and codeburn | 1.1.14; 651e854f, ed8fa3af | 2026-11-28 | captured

use super::prelude::*;

pub const FORMAT: Format = sessions::format::<Session>("antigravity", fits);

fn fits(record: Value, kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()))
        && record.has("step_index")
        && record.text("source").is_some()
}

#[derive(Default)]
pub struct Session;

impl sessions::Session for Session {
    fn begins<'d>(&self, record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        let is_first = record.get("step_index")?.as_integer() == Some(0);
        (is_first && record.text("source") == Some("USER_EXPLICIT")).then_some(None)
    }

    fn takes(&self, record: Value, kind: &str) -> bool {
        fits(record, Some(kind))
    }

    fn time(record: Value<'_>) -> Option<Value<'_>> {
        record.member("created_at")
    }

    fn read(&mut self, record: Value, run: &mut Run) {
        let content = record.text("content").unwrap_or_default();
        run.skipped.add_many("truncated", record.elements("truncated_fields").count() as u64);
        match (record.text("type").unwrap_or_default(), record.text("source")) {
            ("USER_INPUT", _) => read_user(content, run),
            ("PLANNER_RESPONSE", _) => {
                run.end_turn();
                run.events.extend(record.name("thinking").map(Event::reasoned));
                run.events.extend(record.name("content").map(Event::said));
                run.read_each(record.member("tool_calls"), |run, call| {
                    // Each argument is JSON in a string.
                    let args = call.object("args").into_iter().flat_map(Value::members);
                    let input = CallInput::of(args.map(|(name, value)| (name, value.decoded())));
                    run.tool_call(call.name("name"), input, None);
                });
            }
            (kind, Some("MODEL")) if record.has("content") || kind != "GENERIC" => {
                let failed = (record.text("status") == Some("ERROR")).then_some(true);
                let output = text_of(record.member("content"), &mut run.skipped);
                run.tool_result(None, output, failed);
            }
            (kind, _) => run.skipped.add_record(kind),
        }
    }
}

/// Reads what a person asked, among what the program added.
fn read_user(content: &str, run: &mut Run) {
    run.facts.collected.is_person = true;
    let between = |begin, end| Some(content.split_once(begin)?.1.split_once(end)?.0);
    let text = between("<USER_REQUEST>", "</USER_REQUEST>");
    let model =
        between("`Model Selection` from ", "\n").and_then(|change| change.split_once(" to "));
    run.facts.model(model.map(|(_, model)| model.trim_end_matches('.')));
    match text.or_else(|| (!content.starts_with('<')).then_some(content)).map(json::trimmed) {
        Some(text) => run.say_human(&[text]),
        None => run.skipped.add("context"),
    }
    if text.is_some_and(|text| content.len() > text.len() + "<USER_REQUEST></USER_REQUEST>".len()) {
        run.skipped.add("context");
    }
}
