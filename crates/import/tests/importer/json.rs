//! JSON documents and their values, and times in all notations.

use knowledgepulse_import::{Document, Members, Origin, Unread, Value};
use knowledgepulse_test_support::importing::{run, value_of};
use knowledgepulse_workers::CancelToken;
use serde_json::json;

fn parse(text: &str) -> Document<'_> {
    Document::parse(text).unwrap()
}

#[test]
fn document_replaces_lone_surrogates() {
    for (text, expected) in [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00x""#, "\u{fffd}x"),
        (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
        (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\\ud800\ud800""#, "\\ud800\u{fffd}"),
    ] {
        assert_eq!(parse(text).root().as_str(), Some(expected), "{text}");
    }
    assert!(Document::parse(r#""\ud8"#).is_err());
}

#[test]
fn document_has_null_for_what_is_no_number() {
    let text = r#"{"NaN":[NaN,-Infinity,"\"NaN",1],"b":Infinity}"#;
    let expected = r#"{"NaN":[null,null,"\"NaN",1],"b":null}"#;
    assert_eq!(parse(text).root().to_json(), expected);
    assert!(Document::parse("[NaNs]").is_err() && Document::parse("NaN").is_ok());
}

#[test]
fn document_keeps_all_numbers() {
    let text = "[0,268435455,268435456,4294967296,18446744073709551615,-1,-9223372036854775808,0.5,1e+300]";
    assert_eq!(parse(text).root().to_json(), text);
    assert_eq!(parse("-1").root().as_integer(), Some(-1));
    assert_eq!(parse("1.0").root().as_integer(), None);
}

#[test]
fn document_reads_all_values_of_a_line() {
    let cancel = CancelToken::default();
    let (document, error) = Document::read(r#"1 {"a":2}[3]"#.into(), true, &cancel);
    let values: Vec<_> = document.roots().map(Value::to_json).collect();
    assert_eq!(values, ["1", r#"{"a":2}"#, "[3]"]);
    assert!(error.is_none());
    let (document, error) = Document::read("[1]2".into(), true, &cancel);
    assert_eq!(document.roots().count(), 1);
    assert!(matches!(error, Some(Unread::Syntax(_))));
}

#[test]
fn document_ends_when_it_is_cancelled() {
    let cancel = CancelToken::default();
    cancel.cancel();
    let text = format!("[{}0]", "0,".repeat(100_000));
    let (_, unread) = Document::read(text.into(), false, &cancel);
    assert!(matches!(unread, Some(Unread::Cancelled)));
}

#[test]
fn value_finds_the_last_member_of_a_name() {
    let document = parse(r#"{"a":1,"b":{"a":2},"a":[{"c":null}]}"#);
    let root = document.root();
    assert_eq!(root.get("a").unwrap().to_json(), r#"[{"c":null}]"#);
    assert_eq!(root.pointer("/b/a").unwrap().as_integer(), Some(2));
    assert!(root.pointer("/a/0/c").unwrap().is_null());
    assert!(root.pointer("/a/00/c").is_none() && root.pointer("a").is_none());
    assert_eq!(root.count(100), 12);
    assert_eq!(root.count(3), 3);
}

#[test]
fn canonical_sorts_by_utf16_and_writes_ecmascript_fractions_and_whole_integers() {
    let text = "{\"\u{e000}\":1e21,\"😀\":-0.0,\"a\":0,\"a\":[1.50,12345678901234567890,-1234567890123456789],\"\":\"\\u001f\\n/\"}";
    assert_eq!(
        parse(text).root().canonical(),
        "{\"\":\"\\u001f\\n/\",\"a\":[1.5,12345678901234567890,-1234567890123456789],\"😀\":0,\"\u{e000}\":1e+21}"
    );
}

#[test]
fn decoded_opens_strings_twice() {
    for (text, expected) in [
        (r#""\"{\\\"a\\\":1}\"""#, r#"{"a":1}"#),
        (r#"" [1] x""#, r#"" [1] x""#),
        (r#""12""#, r#""12""#),
    ] {
        assert_eq!(parse(text).root().decoded().to_json(), expected);
    }
}

#[test]
fn times_are_read_in_all_notations() {
    let milliseconds = Some("2025-06-14T11:00:00.001Z");
    for (expected, values) in [
        (Some("2025-06-14T11:00:00.000Z"), json!(["2025-06-14T11:00:00Z", 1_749_898_800])),
        (Some("2025-06-14T09:00:00.123Z"), json!(["2025-06-14T11:00:00.1239+02:00"])),
        (Some("2025-06-14T11:00:00.500Z"), json!(["2025-06-14 11:00:00.5", "1749898800.5"])),
        (Some("2025-06-14T00:00:00.000Z"), json!(["2025-06-14"])),
        (Some("1969-12-31T23:59:59.999Z"), json!(["1969-12-31T23:59:59.9999Z"])),
        (Some("0000-01-01T00:00:00.000Z"), json!(["0000-01-01"])),
        (milliseconds, json!([1_749_898_800.001, 1_749_898_800_001_u64, "1749898800001999"])),
        (milliseconds, json!(["1749898800001999999", [1_749_898_800, 1_999_999]])),
        // Before the year 0, and no times.
        (None, json!(["-000001-12-31T23:59:59Z", [-62_167_219_201_i64, 0]])),
        (None, json!(["yesterday", "", "1.2.3", ".", -1, [1], null])),
    ] {
        for value in values.as_array().unwrap() {
            let messages = json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }]);
            let imported = run(&json!({ "messages": messages, "created_at": value }).to_string());
            let created_at = value_of(&imported)["metadata"]["created_at"].clone();
            let is_read = imported.provenance.created_at_from == Origin::Source;
            assert_eq!(created_at.as_str().filter(|_| is_read), expected, "{value}");
        }
    }
}
