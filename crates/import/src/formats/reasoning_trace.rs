//! Traces of the protocol, which pass unchanged.

use std::fmt;

use crate::{
    error::{Code, Error},
    events::{MAX_VALUES, Origin, Skipped, TOO_MANY_VALUES},
    format::Runs,
    json::{Array, Members, Value},
    trace::{IMPORTER, Imported, Provenance, Source},
};

pub fn fits(object: Value) -> bool {
    object.text("@type") == Some("ReasoningTrace")
        || (object.list("steps").is_some()
            && object.object("task").has("objective")
            && object.object("metadata").is_some())
}

pub fn read(value: Value, out: &mut Runs) {
    if let Err(error) = value.to_trace(|_| Err(fmt::Error)) {
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
    };
    out.done(Ok(Imported { trace: value.to_json().into(), provenance }));
}
