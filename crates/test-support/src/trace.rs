//! Valid traces.

use std::fmt;

use knowledgepulse_import::{self as import, Document};
use knowledgepulse_scoring::{Result, Trace, embed::Text, scorer::Input};
use serde_json::{Value, json};

/// Returns a valid trace without steps, in which `fields` replace those of the same name.
pub fn trace(fields: Value) -> Value {
    let mut trace = json!({
        "metadata": { "task_domain": "code", "success": true },
        "task": { "objective": "" },
        "steps": [],
        "outcome": { "confidence": 0.5 },
    });
    let Value::Object(fields) = fields else { panic!("{fields} are no fields") };
    trace.as_object_mut().expect("an object").extend(fields);
    trace
}

/// Reads a trace, and writes its text to `text` until that refuses more.
///
/// # Errors
///
/// `INVALID_TRACE` with the path of the first field that does not fit.
pub fn read_trace(trace: &Value, text: &mut impl fmt::Write) -> Result<Trace> {
    let json = trace.to_string();
    let document = Document::parse(&*json).expect("JSON");
    import::read_trace(document.root(), |part| text.write_str(part))
}

/// Returns the input of a scorer for a valid trace: the trace and all of its text.
pub fn input(trace: &Value) -> Input {
    let mut text = String::new();
    let objective = trace["task"]["objective"].as_str().expect("an objective").len();
    let trace = read_trace(trace, &mut text).expect("a valid trace");
    Input { trace, text: Text::new(text, objective), before_own: false }
}
