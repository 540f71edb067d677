//! Sessions of Goose.
//!
//! | Goose: `goose session export --format json`, `goose run --output-format stream-json` and `json`, session files before SQLite; the stream lacks what the user wrote, so give `objective` | a session | an error of the stream |
//!
//! - the messages and the stream, compared with messages in the tests of agentsview | 5152a340, 05132966 | 2026-11-28 | source

use crate::{part::Kind, prelude::*};

pub const FORMAT: Format = Format::code("goose", fits, || {
    sessions(Rules {
        begins: |(), record, _| messages(record).map(|_| record.name("id")),
        takes: |(), record, kind| match kind {
            "message" => record.object("message").has("created"),
            kind => matches!(kind, "notification" | "model_change" | "error" | "complete"),
        },
        time: |record| {
            let of_message = || record.object("message")?.member("created");
            record.first(&["created", "created_at"]).or_else(of_message)
        },
        ..Rules::of(|(), record, run| read(record, run))
    })
});

/// The types of parts that only Goose has.
const OWN: [&str; 2] = ["toolRequest", "toolResponse"];

fn fits(object: Value, kind: Option<&str>) -> bool {
    match kind {
        Some("message") => is_message(object.object("message")),
        Some(_) => false,
        None => messages(object).is_some() || is_line(object),
    }
}

/// Returns whether a record is a message by itself, as in session files before SQLite.
fn is_line(record: Value) -> bool {
    record.text("role").is_some()
        && record.get("created").and_then(Value::as_integer).is_some()
        && record.has("content")
}

fn is_message(message: Option<Value>) -> bool {
    let is_own = |part: Value| part.text("type").is_some_and(|kind| OWN.contains(&kind));
    let has_own = || message.elements("content").any(is_own);
    message.text("role").and(message.get("created")).is_some_and(|time| time.as_integer().is_some())
        && (message.object("metadata").has("userVisible") || has_own())
}

/// Returns the messages of a document, with that which has the facts.
fn messages(object: Value<'_>) -> Option<Value<'_>> {
    let list = object.get("conversation").or_else(|| object.get("messages"))?;
    list.as_array()?.any(|message| is_message(Some(message))).then_some(list)
}

fn read(record: Value, run: &mut Run) {
    if let Some(list) = messages(record) {
        run.facts.place(record.name("working_dir"), None);
        let config = record.object("model_config");
        run.facts.model(config.name("model_name"));
        for message in run.skipped.objects(Some(list)) {
            run.record(message.member("created"), |run| read_message(message, run));
            run.events.end_text();
        }
        return;
    }
    match (record.text("type").unwrap_or("?"), record.object("message")) {
        ("message", Some(message)) => read_message(message, run),
        _ if is_line(record) => read_message(record, run),
        (kind, _) => {
            run.has_failed |= kind == "error";
            run.facts.model(record.name("model"));
            run.skipped.add_record(kind);
        }
    }
}

fn read_message(message: Value, run: &mut Run) {
    let content = message.get("content");
    if message.text("role") == Some("user") {
        let read = |run: &mut Conversation, kind: &str, part: Value| match kind {
            "toolResponse" => read_result(part, run),
            "text" => run.skipped.add("context"),
            kind => run.skipped.add_part(kind),
        };
        run.events.end_text();
        if message.object("metadata").flag("userVisible") == Some(false) {
            return parts(content).for_each(|(kind, part)| read(run, kind, part));
        }
        return run.read_user_by(content, read);
    }
    for (kind, part) in parts(content) {
        let of = Kind::of(kind);
        if matches!(of, Kind::Text | Kind::Reasoning) {
            let text = text_of_part(part).unwrap_or_default();
            run.events.push_piece(&text, of == Kind::Text);
            continue;
        }
        run.events.end_text();
        match kind {
            "toolRequest" => {
                let call = part.object("toolCall");
                let call = call.object("value").or(call);
                let input = CallInput::recorded(call.member("arguments"));
                run.tool_call(call.name("name"), input, part.name("id"));
            }
            "toolResponse" => read_result(part, run),
            kind => run.skipped.add_part(kind),
        }
    }
}

fn read_result(part: Value, run: &mut Conversation) {
    run.end_turn();
    let result = part.member("toolResult");
    let error = result.object("error").or_else(|| result.member("error"));
    let value = error.or_else(|| result.member("value")).or(result);
    let output = text_of(value, &mut run.skipped);
    let failed = (result.text("status") == Some("error")).then_some(true);
    run.tool_result(part.name("id"), output, failed);
}
