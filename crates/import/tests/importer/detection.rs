//! How the format of a record is told, to which session it belongs, and what errors say of other records.

use knowledgepulse_import::{Code, Options, UnreadCalls};
use knowledgepulse_test_support::{
    importing::{self, Outcome},
    logs,
};
use serde_json::{Value, json};

use crate::{begins, codes, error, import, lines, written};

/// Returns the logs with one record a line, and their formats.
fn logs_of_lines() -> Vec<(String, Vec<Value>)> {
    let logs = logs().into_iter().flat_map(|logs| logs.logs);
    let texts = logs.filter_map(|log| String::from_utf8(log.bytes).ok());
    let records = texts.filter_map(|text| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let records: Option<Vec<Value>> =
            lines.map(|line| serde_json::from_str(line).ok()).collect();
        records.filter(|records| records.len() > 1 && records.iter().all(Value::is_object))
    });
    let named = records.filter_map(|records| {
        let outcome = import(&lines(&records));
        let [format] = outcome.report.formats[..] else { return None };
        (outcome.report.traces > 0 && outcome.report.error_count == 0)
            .then(|| (format.to_owned(), records))
    });
    named.collect()
}

fn traces(outcome: &Outcome) -> Vec<String> {
    outcome.traces().map(|imported| imported.trace.to_string()).collect()
}

#[test]
fn array_of_records_is_read_like_lines() {
    let mut formats = Vec::new();
    for (format, records) in logs_of_lines() {
        let array = json!(records).to_string();
        let options = Options { format: Some(format.clone()), ..importing::options() };
        let of_format = importing::import([array.as_bytes()], &options);
        let by_line = import(&lines(&records));
        // An array of chat messages is a conversation by itself.
        if format != "messages" {
            assert_eq!(traces(&of_format), traces(&by_line), "{format}");
            assert_eq!(traces(&import(&array)), traces(&by_line), "{format}");
            formats.push(format);
        }
    }
    formats.dedup();
    assert!(formats.len() >= 8, "{formats:?}");
}

#[test]
fn sessions_take_no_records_of_another_format() {
    let mut logs = logs_of_lines();
    logs.dedup_by(|next, log| next.0 == log.0);
    for (format, begun) in &logs {
        for (other, following) in logs.iter().filter(|(other, _)| other != format) {
            // Both have the reasoning items of the Responses API.
            if (&**format, &**other) == ("grok-build", "messages") {
                continue;
            }
            let expected = [begun, following].map(|records| traces(&import(&lines(records))));
            let mut expected = expected.concat();
            expected.sort();
            // Chat messages go on until another format follows, and Droid and Pi have the same messages.
            let is_told =
                [format, other].into_iter().all(|name| !["messages", "droid"].contains(&&**name));
            let in_turns = (0..begun.len().max(following.len())).flat_map(|index| {
                [begun, following]
                    .into_iter()
                    .filter_map(move |records| records.get(index).cloned())
            });
            let one_by_one = is_told.then(|| in_turns.collect());
            for records in
                [Some([&begun[..], following].concat()), one_by_one].into_iter().flatten()
            {
                let mut found = traces(&import(&lines(&records)));
                found.sort();
                assert_eq!(found, expected, "{format} and {other}");
            }
        }
    }
}

#[test]
fn streams_of_tools_are_of_their_format_however_short() {
    let session = "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"Go\"}}\n";
    for format in ["gemini-cli", "droid", "pi"] {
        let log = written(&format!("{format}/stream.jsonl"));
        // A stream of Pi has the header of its sessions.
        let records: Vec<_> =
            log.lines().filter(|line| !line.starts_with("{\"type\":\"session\"")).collect();
        for length in 1..=records.len() {
            assert_eq!(import(&records[..length].join("\n")).report.formats, [format]);
        }
        // Another log may follow.
        assert_eq!(import(&(log + session)).report.formats, [format, "claude-code"]);
    }
}

#[test]
fn errors_say_what_was_expected_and_what_was_found() {
    let known = ["user", "assistant"].map(|role| json!({ "role": role, "content": "a" }));
    let unknown =
        ["StepBegin", "ToolCall", "ToolResult"].map(|kind| json!({ "type": kind, "payload": 1 }));
    let few = lines(&[&known[..], &unknown[..1]].concat());
    assert_eq!(import(&few).errors().next(), None);
    let many = lines(&[&known[..], &unknown].concat());
    for (log, format, code, found) in [
        (&*many, None, Code::UnknownRecords, "records of a known format, found 3 of 5 of none: "),
        (&many, None, Code::UnknownRecords, "none: \"StepBegin\", \"ToolCall\", \"ToolResult\""),
        (&few, Some("codex"), Code::UnknownFormat, "of the format codex, found messages"),
        ("{\"other\":1}", None, Code::UnknownFormat, "none"),
        ("SQLite format 3\0\u{1}", None, Code::UnknownFormat, "SQLite"),
        ("PK\u{3}\u{4}\u{14}\0", None, Code::InvalidJson, "ZIP"),
    ] {
        let options = Options { format: format.map(Into::into), ..importing::options() };
        let outcome = importing::check(log.as_bytes(), 7, &options);
        let error = error(&outcome);
        assert!(error.code == code && error.message.contains(found), "{error}");
    }
}

#[test]
fn callers_decide_on_calls_of_an_unknown_shape() {
    let log = written("messages/unknown.jsonl");
    for (unread_calls, rejected, read) in [
        (UnreadCalls::Skip, &[][..], &[3, 4][..]),
        (UnreadCalls::RejectAll, &[1, 2], &[3, 4]),
        (UnreadCalls::RejectAny, &[1, 2, 3], &[4]),
    ] {
        let options = Options { unread_calls, ..importing::options() };
        let outcome = importing::check(log.as_bytes(), 7, &options);
        let rejected: Vec<_> =
            rejected.iter().map(|line| (Code::UnknownRecords, Some(*line))).collect();
        assert_eq!((codes(&outcome), begins(&outcome)), (rejected, read.to_vec()));
    }
}
