//! JSON documents and their values.

use knowledgepulse_import::{Document, Members, Unread, Value};
use knowledgepulse_workers::CancelToken;

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
