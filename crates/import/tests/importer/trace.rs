//! Reading traces from JSON: what a written log does not show.

use std::fmt;

use knowledgepulse_import::Document;
use knowledgepulse_test_support::{input, trace};
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

#[test]
fn id_is_any_string_and_nothing_else() {
    let texts = ["kp:trace:1", "", "👩‍🔬 e\u{301}\0"].map(Value::from);
    let others = [json!(null), json!(5), json!(true), json!(["a"]), json!({ "a": 1 })];
    for id in texts.into_iter().chain(others) {
        let mut trace = valid();
        trace["id"] = id.clone();
        assert_eq!(input(&trace).trace.id().map(|id| &**id), id.as_str(), "{id}");
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
    let mut invalid = valid();
    invalid["steps"][1]["content"] = json!(5);
    for (trace, expected) in [(invalid, "steps[1].content"), (Value::Null, "trace")] {
        let error = read(&trace, 0).0.unwrap_err();
        assert_eq!((error.code(), error.path()), ("INVALID_TRACE", Some(expected)));
    }
}
