//! Traces of the protocol, which pass unchanged.

use std::fmt;

use crate::{
    error::Code,
    event::{ObjectiveFrom, Skipped},
    format::{Format, Output, ReadRuns},
    json::{Array, Members, Value},
    trace::{
        ConfidenceFrom, CreatedAtFrom, DomainFrom, IMPORTER, Imported, MAX_VALUES, Provenance,
        Source, SuccessFrom,
    },
};

/// Traces, one or many.
pub(crate) const FORMAT: Format = Format {
    name: "reasoning-trace",
    domain: "general",
    fits,
    adopts: false,
    open: || Box::new(Reader),
};

fn fits(object: Value) -> bool {
    let has_objective = || object.object("task").is_some_and(|task| task.has("objective"));
    object.text("@type") == Some("ReasoningTrace")
        || (object.list("steps").is_some()
            && has_objective()
            && object.object("metadata").is_some())
}

struct Reader;

impl ReadRuns for Reader {
    fn read(&mut self, value: Value, line: u64, out: &mut Output) {
        // As for scoring, where its text does not count.
        if let Err(error) = value.to_trace(&mut Full) {
            return out.error(Code::InvalidTrace, line, error.path(), &error.to_string());
        }
        if value.list("steps").is_none_or(Array::is_empty) {
            return out.skip("no_steps");
        }
        if value.count(MAX_VALUES + 1) > MAX_VALUES {
            return out.too_many_values(line);
        }
        let has_time =
            value.member("metadata").is_some_and(|data| data.text("created_at").is_some());
        let provenance = Provenance {
            importer: IMPORTER,
            format: FORMAT.name,
            source: Source { name: out.name.clone(), line },
            key: value.text("id").map(Into::into),
            objective_from: ObjectiveFrom::Own,
            success_from: SuccessFrom::Own,
            confidence_from: ConfidenceFrom::Own,
            created_at_from: if has_time { CreatedAtFrom::Source } else { CreatedAtFrom::None },
            domain_from: DomainFrom::Own,
            skipped: Skipped::default(),
        };
        out.trace(Imported { trace: value.to_json().into(), provenance });
    }
}

/// Takes no text.
struct Full;

impl fmt::Write for Full {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Err(fmt::Error)
    }
}
