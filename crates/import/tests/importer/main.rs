//! What becomes of logs, in one program: each of its own would have to be linked.

mod formats;
mod json;
mod limits;
mod mutations;
mod spans;
mod trace;

use knowledgepulse_import::Imported;
use knowledgepulse_test_support::importing::{self, Outcome};
use serde_json::Value;

fn import(log: &str) -> Outcome {
    importing::import([log.as_bytes()], &importing::options())
}

/// Returns a log of one record a line.
fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn skipped(imported: &Imported) -> Value {
    importing::skipped(&imported.provenance.skipped)
}
