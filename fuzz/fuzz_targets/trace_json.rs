//! JSON, read as traces and scored. Reading is compared with a naive reader, scores with the oracle.
#![no_main]

use std::fmt;

use knowledgepulse_scoring::{Novelty, Profiles, Score, Trace, cache::Nearest, trace::quote};
use knowledgepulse_test_support::{oracle, read_trace};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// A longer id is ignored.
const LONGEST_ID: usize = 1024;

/// The fields in reading order: path, expected value, and check.
type Field = (&'static [&'static str], &'static str, fn(Option<&Value>) -> bool);

const HEAD: [Field; 9] = [
    (&[], "an object", is_object),
    (&["metadata"], "an object", is_object),
    (&["metadata", "task_domain"], "a string", is_string),
    (&["metadata", "success"], "a boolean", |value| value.is_some_and(Value::is_boolean)),
    (&["outcome"], "an object", is_object),
    (&["outcome", "confidence"], "a finite number in [0, 1]", is_share),
    (&["task"], "an object", is_object),
    (&["task", "objective"], "a string", is_string),
    (&["steps"], "an array", |value| value.is_some_and(Value::is_array)),
];

const STEP: [Field; 5] = [
    (&[], "an object", is_object),
    (&["type"], "a string", is_string),
    (&["content"], "a string, null or nothing", |value| is_nothing(value) || is_string(value)),
    (&["tool"], "an object, null or nothing", |value| is_nothing(value) || is_object(value)),
    (&["tool", "name"], "a string", |value| value.is_none() || is_string(value)),
];

/// An array is an object of JavaScript.
fn is_object(value: Option<&Value>) -> bool {
    value.is_some_and(|value| value.is_object() || value.is_array())
}

fn is_string(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_string)
}

fn is_nothing(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn is_share(value: Option<&Value>) -> bool {
    value.and_then(Value::as_f64).is_some_and(|number| (0.0..=1.0).contains(&number))
}

fn at<'v>(value: &'v Value, place: &[&str]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, name| value.get(name))
}

fn describe(value: Option<&Value>) -> String {
    match value {
        None => "undefined".into(),
        Some(Value::String(text)) => quote(text),
        Some(Value::Array(_)) => "an array".into(),
        Some(Value::Object(_)) => "an object".into(),
        // The format of numbers is tested elsewhere.
        Some(Value::Number(_)) => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Returns the start of the error for the first invalid field.
fn fit(value: &Value, parent: &str, fields: &[Field]) -> Result<(), (String, String)> {
    for (place, expected, fits) in fields {
        let found = at(value, place);
        if fits(found) {
            continue;
        }
        let path = [&[parent], *place].concat().join(".");
        let path = path.trim_start_matches('.');
        let path = if path.is_empty() { "trace" } else { path };
        return Err((path.into(), format!("{path}: expected {expected}, got {}", describe(found))));
    }
    Ok(())
}

/// The fields of a valid trace that scoring uses.
#[derive(Debug)]
struct Plain {
    /// As JSON, with nothing else in it.
    trace: Value,
    text: String,
}

/// Returns the expected result: the fields, or the path and the start of the error.
fn expect(value: &Value) -> Result<Plain, (String, String)> {
    fit(value, "", &HEAD)?;
    let list = value["steps"].as_array().expect("checked");
    let mut texts = vec![value["task"]["objective"].as_str().expect("checked")];
    let mut steps = Vec::new();
    for (index, step) in list.iter().enumerate() {
        fit(step, &format!("steps[{index}]"), &STEP)?;
        texts.push(step.get("content").and_then(Value::as_str).unwrap_or_default());
        let tool = step.get("tool").filter(|tool| !tool.is_null());
        let tool = tool.map(|tool| json!({ "name": tool.get("name") }));
        steps.push(json!({ "type": step["type"], "tool": tool }));
    }
    let id = value.get("id").and_then(Value::as_str).filter(|id| id.len() <= LONGEST_ID);
    let metadata = &value["metadata"];
    Ok(Plain {
        trace: json!({
            "id": id,
            "metadata": { "task_domain": metadata["task_domain"], "success": metadata["success"] },
            "steps": steps,
            "outcome": { "confidence": value["outcome"]["confidence"].as_f64() },
        }),
        text: texts.join(" "),
    })
}

/// Takes a limited number of bytes, and refuses more.
struct Limited {
    text: String,
    room: usize,
    is_full: bool,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        assert!(!self.is_full, "{text:?} was written after a refusal");
        let taken = text.floor_char_boundary(self.room);
        self.text += &text[..taken];
        self.room -= taken;
        self.is_full = taken < text.len();
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Compares everything that was read of a valid trace, and its score with every source of novelty.
fn check(value: &Value, trace: &Trace, text: &str, plain: &Plain) {
    let expected = &plain.trace;
    let confidence = expected["outcome"]["confidence"].as_f64().map(f64::to_bits);
    assert_eq!(Some(trace.domain()), expected["metadata"]["task_domain"].as_str());
    assert_eq!(Some(trace.success()), expected["metadata"]["success"].as_bool());
    assert_eq!(Some(trace.confidence().to_bits()), confidence);
    assert_eq!(trace.id().map(|id| &**id), expected["id"].as_str());
    assert_eq!(Some(trace.steps().count), expected["steps"].as_array().map(Vec::len));
    assert_eq!(text, plain.text);

    let mut limited = Limited { text: String::new(), room: text.len() * 3 / 4, is_full: false };
    assert_eq!(read_trace(value, &mut limited).as_ref(), Ok(trace), "with less of its text");
    assert!(text.starts_with(&limited.text), "{:?}", limited.text);

    let (profiles, similarity) = (Profiles::default(), trace.confidence());
    for (novelty, value) in [
        (Novelty::EmptyCache, 0.5),
        (Novelty::OverBudget, 0.5),
        (Novelty::NoEmbedder("switched off".into()), 0.5),
        (Novelty::Cache(Nearest { similarity, id: None }), (1.0 - similarity).clamp(0.0, 1.0)),
    ] {
        let found = Score::of(trace, novelty, &profiles);
        oracle::assert_score(&found, &oracle::score(expected, value, &[]));
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice(data) else { return };
    let mut text = String::new();
    match (read_trace(&value, &mut text), expect(&value)) {
        (Ok(trace), Ok(plain)) => check(&value, &trace, &text, &plain),
        (Err(error), Err((path, start))) => {
            assert_eq!((error.code(), error.path()), ("INVALID_TRACE", Some(&*path)), "{error}");
            assert!(error.to_string().starts_with(&start), "{error} for {start}");
        }
        (found, expected) => panic!("{found:?} for {expected:?}"),
    }
});
