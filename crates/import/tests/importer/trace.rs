//! Reading traces from JSON: which are refused, and which are not; and the scores of imported ones.

use std::{collections::BTreeSet, fmt, fs, path::Path};

use knowledgepulse_import::Document;
use knowledgepulse_scoring::{Novelty, Profiles, Score, cache::Nearest};
use knowledgepulse_test_support::{
    importing::{self, value_of},
    input, logs, read_trace, trace,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

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

/// An id, the hash of a text, and a score.
type Row = (String, (String, f64));

/// The ids of traces, the hashes of their texts, and the bits of their scores with a similarity of 0.25.
type Scores = BTreeSet<(String, String, u64)>;

fn scored((id, (hash, score)): Row) -> (String, String, u64) {
    (id, hash, score.to_bits())
}

fn score_all() -> Scores {
    let mut scores = Scores::new();
    for path in logs().iter().flat_map(|logs| &logs.files) {
        let log = fs::read(path).unwrap();
        for imported in importing::import([&*log], &importing::options()).traces() {
            let mut text = String::new();
            let trace = read_trace(&value_of(imported), &mut text).unwrap();
            let novelty = Novelty::Given(Some(Nearest { similarity: 0.25, id: None }));
            let score = Score::of(&trace, novelty, &Profiles::default()).value;
            let hash = format!("{:x}", Sha256::digest(text))[..12].to_owned();
            scores.insert(scored((trace.id().unwrap().to_string(), (hash, score))));
        }
    }
    scores
}

/// As the same objects do in JavaScript: both have to give the scores in the golden files of written logs, and in a
/// file for recorded ones, which may be absent. `__test__/import/logs.test.mjs` reads these as well.
#[test]
fn imported_traces_score_as_in_javascript() {
    let found = score_all();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__");
    let mut written = Scores::new();
    for entry in fs::read_dir(tests.join("logs/golden")).unwrap() {
        let golden: Value =
            serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let logs = golden.as_array().into_iter().flatten();
        for trace in logs.flat_map(|log| log["traces"].as_array().unwrap()) {
            let row: Row = serde_json::from_value(json!([trace["id"], trace["scored"]])).unwrap();
            written.insert(scored(row));
        }
    }
    let file = tests.join("fixtures/imported-scores.json");
    if std::env::var_os("KP_UPDATE").is_some() {
        let recorded = found.difference(&written);
        let rows = recorded.map(|(id, hash, score)| json!([id, [hash, f64::from_bits(*score)]]));
        let rows = rows.map(|row| row.to_string());
        fs::write(&file, format!("[\n{}\n]\n", rows.collect::<Vec<_>>().join(",\n"))).unwrap();
    }
    let rows: Vec<Row> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let recorded = rows.into_iter().map(scored).filter(|row| found.contains(row));
    let expected: Scores = written.into_iter().chain(recorded).collect();
    assert_eq!(found.symmetric_difference(&expected).collect::<Vec<_>>(), Vec::<&_>::new());
}
