//! What becomes of logs, in one program: each of its own would have to be linked. A rule that a log alone can show has
//! a written one, with its golden result.

mod archives;
mod detection;
mod json;
mod limits;
mod messages;
mod shapes;
mod spans;
mod trace;

use std::path::Path;

use knowledgepulse_import::{Code, Error, Imported};
use knowledgepulse_test_support::{
    importing::{self, Outcome, value_of},
    logs,
};
use serde_json::Value;

/// The size of the pieces that a log is read in.
const PIECE: usize = 64 << 10;

fn import(log: &str) -> Outcome {
    importing::import(log.as_bytes().chunks(PIECE), &importing::options())
}

/// Returns a written log.
fn written(path: &str) -> String {
    let logs = logs().into_iter().flat_map(|logs| logs.logs);
    let mut found = logs.filter(|log| log.is_written && log.path == Path::new(path));
    String::from_utf8(found.next().expect(path).bytes).unwrap()
}

/// Returns a log of one record a line.
fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Returns an object with other members.
fn with(mut object: Value, members: Value) -> Value {
    object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    object
}

fn steps(imported: &Imported) -> Vec<Value> {
    value_of(imported)["steps"].as_array().unwrap().clone()
}

/// Returns the codes and lines of the errors.
fn codes(outcome: &Outcome) -> Vec<(Code, Option<u64>)> {
    outcome.errors().map(|error| (error.code, error.line)).collect()
}

/// Returns the only error.
fn error(outcome: &Outcome) -> &Error {
    let errors: Vec<_> = outcome.errors().collect();
    let [error] = errors[..] else { panic!("{errors:?}") };
    error
}

/// Returns the lines where the traces begin.
fn begins(outcome: &Outcome) -> Vec<u64> {
    outcome.traces().map(|trace| trace.provenance.source.line).collect()
}
