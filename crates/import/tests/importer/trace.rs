//! Reading traces from JSON: which are refused, and which are not.

use std::fmt;

use knowledgepulse_import::Document;
use knowledgepulse_test_support::{input, read_trace, trace};
use serde_json::{Value, json};

fn valid() -> Value {
    trace(json!({
        "task": { "objective": "Find the leak" },
        "steps": [
            { "type": "thought", "content": "Look at the allocator" },
            { "type": "tool_call", "tool": { "name": "heaptrack" }, "content": null },
        ],
    }))
}

/// The valid trace with the value at a JSON pointer replaced.
#[track_caller]
fn with(pointer: &str, value: Value) -> Value {
    let mut trace = valid();
    *trace.pointer_mut(pointer).expect("the valid trace has this place") = value;
    trace
}

#[test]
fn to_trace_names_the_place_what_was_expected_and_what_was_found() {
    let long = "x".repeat(41);
    let cut = format!("an object, null or nothing, got {:?}…", &long[..40]);
    let cases = [
        ("/metadata", json!("m"), "an object, got \"m\""),
        ("/metadata/task_domain", json!(7), "a string, got 7"),
        ("/metadata/success", json!("yes"), "a boolean, got \"yes\""),
        ("/task", json!(false), "an object, got false"),
        ("/task/objective", json!({}), "a string, got an object"),
        ("/steps", json!({"length": 0}), "an array, got an object"),
        ("/steps", json!("abc"), "an array, got \"abc\""),
        ("/steps/1", json!(3), "an object, got 3"),
        ("/steps/0/type", json!(null), "a string, got null"),
        ("/steps/0/content", json!([]), "a string, null or nothing, got an array"),
        ("/steps/1/tool", json!(long), &cut),
        ("/steps/1/tool/name", json!(42), "a string, got 42"),
        ("/steps/1/tool/name", json!(null), "a string, got null"),
        ("/outcome/confidence", json!(1.5), "a finite number in [0, 1], got 1.5"),
        ("/outcome/confidence", json!("1"), "a finite number in [0, 1], got \"1\""),
    ]
    .map(|(pointer, value, expected)| {
        let path = pointer[1..].replace("/0", "[0]").replace("/1", "[1]").replace('/', ".");
        (with(pointer, value), path, expected)
    });
    let others = [
        (json!(null), "trace".to_owned(), "an object, got null"),
        (with("/steps/0", json!([])), "steps[0].type".to_owned(), "a string, got undefined"),
    ];
    for (trace, path, expected) in cases.into_iter().chain(others) {
        let error = read_trace(&trace, &mut String::new()).expect_err(expected);
        assert_eq!((error.code(), error.path()), ("INVALID_TRACE", Some(&*path)), "{expected}");
        assert_eq!(error.to_string(), format!("{path}: expected {expected}"));
    }
}

#[test]
fn to_trace_takes_a_whole_number_for_the_confidence_and_any_string_for_the_id() {
    for number in [0, 1] {
        let trace = with("/outcome/confidence", json!(number));
        assert_eq!(input(&trace).trace.confidence(), f64::from(number));
    }
    let texts = ["kp:trace:1", "", "👩‍🔬 e\u{301}\0"].map(Value::from);
    let others = [json!(null), json!(5), json!(true), json!(["a"]), json!({ "a": 1 })];
    for id in texts.into_iter().chain(others) {
        let mut trace = valid();
        trace["id"] = id.clone();
        let input = input(&trace);
        assert_eq!(input.trace.id().map(|id| &**id), id.as_str(), "{id}");
    }
    assert_eq!(input(&valid()).trace.id(), None);
}

#[test]
fn to_trace_joins_texts_with_spaces_until_a_refusal_and_still_checks_every_field() {
    // Takes so many pieces, and counts what comes after it has refused one.
    let read = |trace: &Value, pieces: usize| {
        let (mut text, mut taken, mut refused) = (String::new(), 0, 0);
        let document = Document::parse(trace.to_string()).unwrap();
        let trace = knowledgepulse_import::read_trace(document.root(), |part| {
            if taken == pieces {
                refused += 1;
                return Err(fmt::Error);
            }
            taken += 1;
            text += part;
            Ok(())
        });
        (trace.map(drop), text, refused)
    };
    for (pieces, expected) in [
        (0, ""),
        (1, "Find the leak"),
        (3, "Find the leak Look at the allocator"),
        (9, "Find the leak Look at the allocator "),
    ] {
        let (trace, text, refused) = read(&valid(), pieces);
        assert!(trace.is_ok());
        assert_eq!((&*text, refused), (expected, u32::from(pieces < 4)), "{pieces}");
    }
    let (invalid, ..) = read(&with("/steps/1/content", json!(5)), 0);
    assert_eq!(invalid.unwrap_err().path(), Some("steps[1].content"));
}
