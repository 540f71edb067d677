//! What becomes of logs, in one program: each of its own would have to be linked.

mod archives;
mod detection;
mod formats;
mod json;
mod limits;
mod messages;
mod shapes;
mod spans;
mod trace;

use knowledgepulse_import::Imported;
use knowledgepulse_test_support::importing::{self, Outcome, run, value_of};
use serde_json::Value;

/// The size of the pieces that a log is read in.
const PIECE: usize = 64 << 10;

fn import(log: &str) -> Outcome {
    importing::import(log.as_bytes().chunks(PIECE), &importing::options())
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

fn skipped(imported: &Imported) -> Value {
    importing::skipped(&imported.provenance.skipped)
}

/// Returns the types of the steps, with contents, names of tools and inputs that are not empty.
fn steps(imported: &Imported) -> Vec<String> {
    let trace = value_of(imported);
    let steps = trace["steps"].as_array().unwrap();
    let step = |step: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let what = match (step.get("content"), step["input"].as_object()) {
            (Some(content), _) => text(content),
            (None, Some(input)) if input.is_empty() => text(&step["tool"]["name"]),
            (None, _) => format!("{} {}", text(&step["tool"]["name"]), step["input"]),
        };
        format!("{} {what}", text(&step["type"]))
    };
    steps.iter().map(step).collect()
}

fn run_value(log: &Value) -> Imported {
    run(&log.to_string())
}
