//! Logs that are deep, wide, long or endless. They have their full size in a long run, which does
//! not end if reading takes time that grows with the square of the size, and otherwise often a
//! tenth of it.

use std::{collections::BTreeMap, iter, sync::mpsc, thread, time::Duration};

use knowledgepulse_import::{Code, Options, Skipped};
use knowledgepulse_test_support::{
    importing::{self, Log, Outcome},
    is_long_run, logs,
};
use serde_json::{Value, json};

use crate::{PIECE, begins, codes, import, lines, shapes::shapes, steps, with};

/// Returns how many of something a test has.
fn many(count: usize) -> usize {
    if is_long_run() { count } else { count / 10 }
}

fn import_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    importing::import(pieces, &importing::options())
}

/// Imports a log of runs that may hold this much text.
fn import_at<'a>(max_text: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let max_text = Some(max_text);
    importing::import(pieces, &Options { max_text, ..importing::options() })
}

/// A limit of text that takes no time to reach, and the real one.
const LIMITS: [usize; 2] = [1 << 20, 256 << 20];

/// Returns the steps of the only trace of a log.
fn only_steps(outcome: &Outcome) -> Vec<Value> {
    let [Ok(imported)] = &outcome.items[..] else { panic!("{:?}", outcome.report) };
    steps(imported)
}

fn nested(depth: usize, value: &str) -> String {
    format!("{}{value}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Returns a conversation: what a person asks, and other messages.
fn conversation(messages: impl IntoIterator<Item = Value>) -> String {
    let user = json!({ "role": "user", "content": "Go" });
    lines(&iter::once(user).chain(messages).collect::<Vec<_>>())
}

/// Imports a log that takes seconds, unless time grows with the square of its size: then many minutes.
fn import_soon(what: &str, log: String) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || drop(sender.send(import(&log))));
    let outcome = receiver.recv_timeout(Duration::from_secs(120));
    outcome.unwrap_or_else(|_| panic!("{what}: reading does not end"))
}

#[test]
fn logs_take_time_in_proportion_to_their_size() {
    let [in_line, in_lists] = if is_long_run() { [10 << 20, 4 << 20] } else { [2 << 20, 64 << 10] };
    let values = [
        ("{}", ""),
        ("[]", ""),
        ("{} ", "x"),
        ("[]\t\r", "{"),
        ("0 ", ""),
        ("{\"type\":\"\\ud800\"}", ""),
        ("{\"role\":\"user\",\"content\":\"a\"}", ""),
        ("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", ""),
        ("{\n}", ""),
        ("[\n", ""),
        ("[\"{}{}\",", ""),
    ]
    .map(|(value, rest)| (value.to_owned(), value.repeat(in_line / value.len()) + rest));
    let shapes = shapes().into_iter().map(|(name, make)| (name, make(in_lists)));
    for (name, log) in values.into_iter().chain(shapes) {
        let bytes = log.len() as u64;
        assert_eq!(import_soon(&name, log).report.bytes, bytes, "{name}");
    }
}

#[test]
fn values_nest_127_deep() {
    let answer = json!({ "role": "assistant", "content": "Yes." });
    let in_lines = |depth: usize| {
        let tool = format!("{{\"role\":\"tool\",\"content\":{}}}", nested(depth - 1, ""));
        format!("{}{tool}\n{answer}", conversation([]))
    };
    let in_document = |depth: usize| format!("[{}]", in_lines(depth - 1).replace('\n', ",\n"));
    for depth in [127, 128, 1_000_000] {
        let errors = if depth > 127 { vec![(Code::InvalidJson, Some(2))] } else { vec![] };
        // After an error other lines are read.
        for (log, traces) in [(in_lines(depth), 1), (in_document(depth), 1 - errors.len())] {
            let outcome = import(&log);
            assert_eq!((codes(&outcome), outcome.traces().count()), (errors.clone(), traces));
        }
    }
    let [open, all] = ["{\"a\":".repeat(1_000_000), nested(1_000_000, "")];
    for document in [all, open, "[\n".repeat(1_000_000)] {
        let outcome = import(&document);
        assert!(matches!(codes(&outcome)[..], [(Code::InvalidJson, Some(1..=128))]));
        assert_eq!(outcome.traces().count(), 0);
    }
}

#[test]
fn inputs_nest_as_deep_as_a_trace_can_be_read_again() {
    let value = |depth| serde_json::from_str::<Value>(&nested(depth, "1")).unwrap();
    let called =
        |arguments| json!({ "type": "function_call", "name": "f", "arguments": arguments });
    let shell = |action| json!({ "type": "shell_call", "action": action });
    let raw = nested(124, "1");
    for (call, expected) in [
        (called(value(123)), json!({ "value": value(123) })),
        (called(nested(123, "1").into()), json!({ "value": value(123) })),
        (shell(value(123)), json!({ "action": value(123) })),
        (called(value(124)), json!({ "raw": raw })),
        (called(raw.clone().into()), json!({ "raw": raw })),
        (shell(value(124)), json!({ "raw": format!("{{\"action\":{raw}}}") })),
    ] {
        let log = conversation([call]);
        let outcome = importing::check(log.as_bytes(), PIECE, &importing::options());
        assert_eq!(only_steps(&outcome)[0]["input"], expected);
    }
}

#[test]
fn many_members_and_elements_are_read() {
    let count = many(300_000);
    let members: Value = (0..count).map(|index| (index.to_string(), Value::from(0))).collect();
    let input = json!({ "o": members, "a": vec![0; count] });
    let part = json!({ "type": "tool_use", "id": "i", "name": "f", "input": input });
    let log = conversation([json!({ "role": "assistant", "content": [part] })]);
    assert_eq!(only_steps(&import(&log))[0]["input"], input);
}

#[test]
fn log_with_many_of_one_thing_has_a_step_for_each() {
    let count = many(200_000);
    let flattened = |prefix: &str, infix: &str| {
        let content =
            |index| (format!("{prefix}{index}.{infix}content"), format!("message {index}"));
        let mut attributes: Value = (0..100_000).map(content).collect();
        attributes["gen_ai.operation.name"] = "chat".into();
        json!({ "name": "chat", "traceId": "t", "attributes": attributes }).to_string()
    };
    let call = |index: usize| {
        let function = json!({ "name": format!("f{}", index % 7), "arguments": "{}" });
        json!({ "role": "assistant", "tool_calls": [{ "function": function }] })
    };
    let answer = |index: usize| match index % 2 {
        0 => json!({ "role": "tool", "content": "Error: no" }),
        _ => json!({ "role": "tool", "content": "", "name": format!("f{}", index % 7) }),
    };
    let calls = conversation((0..count).map(call).chain((0..count).map(answer)));
    let text = |index: usize| json!({ "type": "text", "text": format!("{index:06}") });
    let record = |kind: &str, content: Value| json!({ "type": kind, "sessionId": "s", "message": { "id": "m", "content": content } });
    let texts = record("assistant", (0..count).map(text).collect());
    let texts = lines(&[record("user", "Go".into()), texts]);
    let early = json!({ "role": "assistant", "content": "```mswea_bash_command\nls\n```" });
    let image = json!({ "role": "user", "content": [{ "type": "image" }] });
    let task = json!({ "role": "user", "content": "Go" });
    let before = json!([vec![early; count], vec![image; count], vec![task]].concat());
    let spans = |first_parent: usize| {
        let span = |index: usize| {
            let parent = index.checked_sub(1).unwrap_or(first_parent);
            json!({
                "name": "f", "traceId": "t", "spanId": index.to_string(), "parentSpanId": parent.to_string(),
                "startTimeUnixNano": index,
                "attributes": { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": format!("f{index}") },
            })
        };
        lines(&(0..count).map(span).collect::<Vec<_>>())
    };
    for (things, log, expected) in [
        ("messages of OpenTelemetry", flattened("gen_ai.prompt.", ""), 99_999),
        ("messages of OpenInference", flattened("llm.input_messages.", "message."), 99_999),
        ("calls without answers, answers without ids", calls, 2 * count),
        ("texts of one answer", texts, count),
        ("messages before the task", before.to_string(), count),
        ("spans below each other", spans(count), count),
        ("spans in a cycle", spans(count - 1), count),
    ] {
        assert_eq!(only_steps(&import_soon(things, log)).len(), expected, "{things}");
    }
}

#[test]
fn interleaved_sessions_are_traces_or_late() {
    let (sessions, rounds) = (1000, 4);
    let claude = |session: usize, round: usize| {
        json!({
            "type": "user", "sessionId": session.to_string(), "uuid": format!("{session}/{round}"),
            "message": { "content": format!("Go {round}") },
        })
    };
    let otel = |session: usize, round: usize| {
        json!({
            "name": "f", "traceId": session.to_string(), "spanId": round.to_string(),
            "attributes": { "gen_ai.operation.name": "execute_tool" },
        })
    };
    // Each session has two records while it is open, and the others come after all have begun.
    let order = |write: &dyn Fn(usize, usize) -> Value| {
        let begin = (0..sessions).flat_map(|session| [(session, 0), (session, 1)]);
        let rest = (2..rounds).flat_map(|round| (0..sessions).map(move |session| (session, round)));
        lines(&begin.chain(rest).map(|(session, round)| write(session, round)).collect::<Vec<_>>())
    };
    for (log, objective) in [(order(&claude), 1), (order(&otel), 0)] {
        let outcome = import(&log);
        assert_eq!(codes(&outcome), []);
        let traces: Vec<_> = outcome.traces().collect();
        assert_eq!(traces.len(), sessions);
        let records =
            traces.iter().map(|trace| steps(trace).len() + objective).sum::<usize>() as u64;
        // 64 are open when all have begun.
        let late = ((rounds - 2) * (sessions - 64)) as u64;
        assert_eq!(outcome.report.skipped.iter().collect::<Vec<_>>(), [("late", late)]);
        assert_eq!(records + late, (sessions * rounds) as u64);
    }
}

#[test]
fn session_with_too_much_text_is_an_error_and_the_next_one_stands() {
    let gemini = |id: &str| json!({ "sessionId": id, "projectHash": "p" });
    let said = |kind: &str, text: &str| json!({ "type": kind, "content": text });
    let session = |id: &str| json!({ "type": "session", "id": id });
    let message = |role: &str, text: &str| {
        let message = json!({ "role": role, "content": text });
        json!({ "type": "message", "message": message })
    };
    let pi = |text: &str| {
        [session("a"), session("b"), message("user", text), message("assistant", "Yes.")]
    };
    let [small, real] = LIMITS;
    let text = "x".repeat(small / 16);
    // Six times as long in JSON as in memory.
    let escaped = "\u{1}".repeat(4 << 20);
    let gemini = [gemini("a"), gemini("b"), said("user", &text), said("gemini", "Yes.")];
    for (log, limit, count, found) in [
        (gemini, small, 17, "of text in one run"),
        (pi(&text), small, 17, "of text in one run"),
        (pi(&escaped), real, 11, "of JSON in one trace"),
    ] {
        let [first, second, large, answer] = log.map(|record| format!("{record}\n"));
        let begin = [&*first].into_iter().chain(iter::repeat_n(&*large, count));
        let pieces = begin.chain([&*answer, &second, &large, &answer]).map(str::as_bytes);
        let outcome = import_at(limit, pieces);
        assert_eq!(codes(&outcome), [(Code::TooLarge, Some(1))]);
        assert!(outcome.errors().next().unwrap().message.contains(found));
        let keys = outcome.traces().map(|trace| trace.provenance.key.as_deref());
        assert_eq!(keys.collect::<Vec<_>>(), [Some("b")]);
        assert!(outcome.report.skipped.iter().any(|skipped| skipped == ("too_large", 1)));
    }
}

#[test]
fn session_that_replaces_texts_by_longer_ones_is_an_error() {
    let record = |part: Value| json!({ "type": "assistant", "sessionId": "s", "message": { "id": "m", "content": [part] } });
    let call = |id: usize, input: &str| {
        let input = json!({ "a": input });
        record(json!({ "type": "tool_use", "id": id.to_string(), "name": "f", "input": input }))
    };
    let thought =
        |id: usize, text: &str| record(json!({ "type": "text", "text": format!("{id}{text}") }));
    let [limit, _] = LIMITS;
    let long = "x".repeat(limit / 16);
    let import = |records: Vec<Value>| import_at(limit, [lines(&records).as_bytes()]);
    // A thought is held twice: as an event, and to compare others with it.
    for (of, count) in [(&call as &dyn Fn(usize, &str) -> Value, 17), (&thought, 9)] {
        let small = (10..10 + count).map(|id| of(id, ""));
        let large = (10..10 + count).map(|id| of(id, &long));
        assert_eq!(codes(&import(small.chain(large).collect())), [(Code::TooLarge, Some(1))]);
    }
    // What was replaced is no longer held.
    let user = json!({ "type": "user", "sessionId": "s", "message": { "content": "Go" } });
    let outcome = import([vec![user], vec![call(0, &long); 17]].concat());
    assert_eq!((codes(&outcome), outcome.traces().count()), (vec![], 1));
}

#[test]
fn spans_with_too_much_text_outside_of_messages_are_an_error() {
    let span = |members| with(json!({ "name": "f", "traceId": "t", "attributes": {} }), members);
    let log = json!({
        "traceId": "t", "spanId": "?", "eventName": "gen_ai.user.message", "body": { "stringValue": "Go" },
    });
    let run =
        |member: &str| json!({ "trace_id": "t", "run_type": "llm", "inputs": {}, member: "?" });
    let records = [
        span(json!({ "name": "?" })),
        span(json!({ "spanId": "?" })),
        span(json!({ "parentSpanId": "?" })),
        span(json!({ "status": { "message": "?" } })),
        json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [log] }] }] }),
        run("name"),
        run("id"),
        run("parent_run_id"),
    ];
    let [small, large] = LIMITS;
    let too_much = |record: &Value, limit: usize| {
        let (record, text) = (record.to_string(), "x".repeat(limit / 16));
        let (before, after) = record.split_once('?').unwrap();
        // Ids differ.
        let begins: Vec<_> = (0..17).map(|index| format!("{before}{index}")).collect();
        let pieces = begins.iter().flat_map(|begin| [begin, &*text, after, "\n"]);
        let outcome = import_at(limit, pieces.map(str::as_bytes));
        assert_eq!(codes(&outcome), [(Code::TooLarge, Some(1))], "{record}");
    };
    records.iter().for_each(|record| too_much(record, small));
    too_much(&records[0], large);
}

#[test]
fn invalid_json_is_an_error_of_its_line_in_pieces_of_any_size() {
    let rest = conversation([json!({ "role": "assistant", "content": "Yes." })]);
    // A first line without its beginning, and the others, which are read.
    let cut = [
        "\"content\":\"a\"}", "tent\":{\"a\":[1]}}", "]}", "{\"a\":1}}", "{\"a\" b", "1e999",
        "text",
    ]
    .map(|cut| (format!("\n{cut}\n{rest}"), 2, 1));
    let none = ["{\n}\nneither an object nor an array\n", "{\n}\n\"", "{\n}\n\u{e9}"]
        .map(|log| (log.to_owned(), 3, 0));
    for (log, line, traces) in cut.into_iter().chain(none) {
        for piece in [1, 7] {
            let outcome = importing::check(log.as_bytes(), piece, &importing::options());
            assert_eq!(codes(&outcome), [(Code::InvalidJson, Some(line))], "{log}");
            assert_eq!(outcome.traces().count(), traces, "{log}");
        }
    }
    // Only the end of a line makes a document of several lines.
    for begin in ["{", "[", "[\"a", "[\"\\u00", "[1.", "[{} ,tru", "{} {\"a\":"] {
        let outcome = import(&format!("{begin}\n{rest}"));
        assert_eq!(outcome.traces().count(), 0, "{begin}");
    }
}

#[test]
fn blank_lines_are_counted() {
    let count = many(2_000_000);
    let blank = "\n".repeat(count);
    let answer = json!({ "role": "assistant", "content": "Yes." });
    let log = format!("{blank}{}{blank}{answer}\n", conversation([]));
    assert_eq!(begins(&import_pieces([log.as_bytes()])), [count as u64 + 1]);
}

#[test]
fn pieces_of_one_byte_are_read() {
    let answer = json!({ "role": "assistant", "content": "x".repeat(1 << 20) });
    let line = conversation([answer]);
    let document = format!("[{}]", line.trim_end().replace("}\n", "},\n\n"));
    for log in [line, document] {
        assert_eq!(import_pieces(log.as_bytes().chunks(1)).traces().count(), 1);
    }
}

#[test]
fn line_without_end_is_too_large() {
    let piece = vec![b' '; 1 << 20];
    let begin = conversation([]);
    let answer = "\n{\"role\":\"assistant\",\"content\":\"Yes.\"}\n";
    for begin in ["", &begin] {
        let pieces = [begin.as_bytes()].into_iter().chain(iter::repeat_n(&*piece, 257));
        let pieces = pieces.chain([b"\"".as_slice(), answer.as_bytes()]);
        let outcome = import_pieces(pieces);
        let line = 1 + u64::from(!begin.is_empty());
        assert_eq!(codes(&outcome), [(Code::TooLarge, Some(line))]);
        assert_eq!(outcome.traces().count(), usize::from(line == 2));
    }
}

#[test]
fn skipped_bounds_the_reasons_of_a_log() {
    let mut skipped = Skipped::default();
    skipped.add(format!("part:{}", "x".repeat(1000)));
    for index in 0..5000 {
        skipped.add(format!("record:{index}"));
    }
    skipped.add("record:7");
    let counts: BTreeMap<_, _> = skipped.iter().collect();
    assert_eq!(counts.len(), 1001);
    assert_eq!((counts["part:?"], counts["record:7"], counts["record:?"]), (1, 2, 4001));
}

/// The fuzz target damages logs at random; this cuts each sample where a program or a disk could have.
#[test]
fn cut_logs_give_traces_or_errors() {
    for Log { path, bytes: log, .. } in logs().into_iter().flat_map(|logs| logs.logs) {
        let cuts = if is_long_run() { 100 } else { 4 };
        for cut in 1..cuts {
            let begin = &log[..log.len() * cut / cuts];
            let outcome = importing::check(begin, 1 + 977 * cut, &importing::options());
            let rest = begin.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_cut = serde_json::from_slice::<Value>(rest).is_err_and(|error| error.is_eof());
            assert!(!is_cut || rest.is_empty() || outcome.errors().next().is_some(), "{path:?}");
        }
    }
}
