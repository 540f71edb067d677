//! Traces of the protocol, which pass unchanged, unless options decide whether their runs succeeded.
//!
//! | this protocol | a trace, which stays as it is | the trace |
//!
//! - the schema of this protocol | 1 | 2026-11-22 | source

use std::{fmt, mem};

use serde_json::json;

use crate::{
    answers::answered_calls,
    chat::{Given, chat},
    error::Failure,
    imported::Imported,
    limits::{MAX_VALUES, NO_MEMORY, TOO_MANY_VALUES},
    options::AssumeSuccess,
    prelude::*,
    provenance::{IMPORTER, Provenance, Source},
    trace::{ImportedTrace, Kept, read_trace},
};

pub const FORMAT: Format =
    Format { name: "reasoning-trace", domain: "general", fits, open: || Box::new(read) };

/// The member of the metadata that says that success was assumed.
const SUCCESS_FROM: &str = "success_from";

fn fits(object: Value, _kind: Option<&str>) -> bool {
    object.text("@type") == Some("ReasoningTrace")
        || (object.list("steps").is_some()
            && object.object("task").has("objective")
            && object.object("metadata").is_some())
}

fn read(value: Value, out: &mut Sink) {
    if let Err(error) = read_trace(value, |_| Err(fmt::Error)) {
        let path = error.path().map(Into::into);
        let input = &out.report.name;
        let error = Error::new(Code::InvalidTrace, input, Some(out.line), &error.to_string());
        return out.done(Err(Error { path, ..error }));
    }
    if value.list("steps").is_none_or(Array::is_empty) {
        return out.skip("no_steps");
    }
    if value.count(MAX_VALUES + 1) > MAX_VALUES {
        return out.too_large(out.line, TOO_MANY_VALUES);
    }
    let metadata = value.member("metadata");
    let is_assumed = metadata.text(SUCCESS_FROM) == Some("assumed");
    let label = value.text("id").and_then(|id| out.options.labels.get(id));
    let (success, success_from) = match (label, out.options.assume_success) {
        (Some(success), _) => (Some(*success), Origin::Option),
        (None, _) if !is_assumed => (None, Origin::Own),
        (None, Some(AssumeSuccess::Skip)) => return out.skip("success_unknown"),
        (None, Some(AssumeSuccess::Always(success))) => (Some(success), Origin::Assumed),
        (None, None) => (None, Origin::Assumed),
    };
    let built = match success {
        None => Document::copy(value).ok(),
        Some(success) => judged(value, success, label.is_none()),
    };
    let Some(trace) = built else { return out.too_large(out.line, NO_MEMORY) };
    let chat = match out.options.messages.then(|| messages(value)).transpose() {
        Ok(chat) => chat,
        Err((_, found)) => return out.too_large(out.line, &found),
    };
    let has_time = metadata.text("created_at").is_some();
    let provenance = Provenance {
        importer: IMPORTER,
        format: out.format.name,
        source: Source { name: out.report.name.clone(), line: out.line },
        key: value.text("id").map(Into::into),
        objective_from: Origin::Own,
        success_from,
        confidence_from: Origin::Own,
        created_at_from: if has_time { Origin::Source } else { Origin::None },
        domain_from: Origin::Own,
        skipped: Skipped::default(),
        facts: None,
    };
    out.done(Ok(Imported { trace: ImportedTrace(Kept::Own(trace)), chat, provenance }));
}

/// Returns a trace with another success, which is assumed or not.
fn judged(trace: Value, success: bool, is_assumed: bool) -> Option<Document<'static>> {
    let mut trace = json!(trace);
    let metadata = trace.get_mut("metadata")?.as_object_mut()?;
    metadata.insert("success".into(), json!(success));
    if !is_assumed {
        metadata.shift_remove(SUCCESS_FROM);
    }
    Document::parse(trace.to_string()).ok()
}

/// Returns the messages of a trace, in which observations answer the calls before them in order.
fn messages(trace: Value) -> Result<String, Failure> {
    let mut events: Vec<Event> = Vec::new();
    let (mut calls, mut turn) = (0, 0);
    // The numbers of the calls of the turn without an answer.
    let mut waiting = 0..0;
    let id = |call: u32| Some(format!("call_{call}"));
    for step in trace.elements("steps") {
        let (kind, content) = (step.text("type"), step.text("content").unwrap_or_default());
        let Some(tool) = step.object("tool").name("name") else {
            let text = content.to_owned();
            let is_observation = kind == Some("observation");
            events.push(match if is_observation { waiting.next() } else { None } {
                Some(call) => {
                    let result = Output { text, failed: None }.into_result(None);
                    Event::Result(ToolResult { id: id(call), ..result })
                }
                None if json::is_blank(content) => continue,
                None if is_observation => Event::Human(text),
                None => Event::said(text),
            });
            continue;
        };
        events.extend((!json::is_blank(content)).then(|| Event::said(content)));
        // Calls that follow one another are of one turn.
        let is_recovery = kind == Some("error_recovery");
        if is_recovery || events.last().and_then(Event::call).is_none() {
            (turn, waiting) = (turn + 1, calls..calls);
            let mut is_last = is_recovery;
            for event in events.iter_mut().rev().take_while(|event| event.call().is_none()) {
                if let Event::Result(result) = event {
                    result.failed = is_recovery && (result.failed || mem::take(&mut is_last));
                }
            }
        }
        let input = CallInput::recorded(step.get("input"));
        events.push(Event::Call(Call::new(Some(tool), input, id(calls).as_deref(), turn)));
        calls += 1;
        waiting.end = calls;
    }
    let objective = trace.object("task").text("objective").unwrap_or_default();
    chat(&events, &answered_calls(&events), (objective, None), &Given::default())
}
