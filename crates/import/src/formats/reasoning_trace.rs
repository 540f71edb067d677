//! Traces of the protocol, which pass unchanged.
//!
//! | this protocol | a trace, which stays as it is | the trace |
//!
//! - the schema of this protocol | 1 | 2026-11-22 | source

use std::fmt;

use crate::{
    error::{Code, Error},
    format::{Format, Sink},
    imported::Imported,
    json::{Array, Document, Members, Value},
    limits::{MAX_VALUES, NO_MEMORY, TOO_MANY_VALUES},
    provenance::{IMPORTER, Origin, Provenance, Source},
    skipped::Skipped,
    trace::read_trace,
};

pub const FORMAT: Format =
    Format { name: "reasoning-trace", domain: "general", fits, open: || Box::new(read) };

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
    let Ok(trace) = Document::build(value) else { return out.too_large(out.line, NO_MEMORY) };
    let has_time = value.member("metadata").text("created_at").is_some();
    let provenance = Provenance {
        importer: IMPORTER,
        format: out.format.name,
        source: Source { name: out.report.name.clone(), line: out.line },
        key: value.text("id").map(Into::into),
        objective_from: Origin::Own,
        success_from: Origin::Own,
        confidence_from: Origin::Own,
        created_at_from: if has_time { Origin::Source } else { Origin::None },
        domain_from: Origin::Own,
        skipped: Skipped::default(),
        facts: None,
    };
    out.done(Ok(Imported { trace, provenance }));
}
