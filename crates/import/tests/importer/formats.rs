//! Rules of single formats that no sample shows.

use std::collections::BTreeMap;

use knowledgepulse_import::{Code, Imported, Options, Origin, Skipped, UnreadCalls};
use knowledgepulse_test_support::importing::{self, Outcome, run, value_of};
use serde_json::{Value, json};

use crate::{import, lines, run_value, skipped, steps, with};

/// Returns the keys of the runs of a log.
fn keys(outcome: &Outcome) -> Vec<Option<&str>> {
    outcome.traces().map(|trace| trace.provenance.key.as_deref()).collect()
}

#[test]
fn codex_exec_items_are_steps_of_a_given_objective() {
    let options = Options { objective: Some("Tidy".into()), ..importing::options() };
    let log = include_str!("../../../../__test__/logs/codex/exec.jsonl");
    let outcome = importing::import([log.as_bytes()], &options);
    assert_eq!(keys(&outcome), [Some("exec-1")]);
    let expected = [
        "thought A start.",
        "thought Look first.",
        r#"tool_call command_execution {"command":"cat a"}"#,
        "observation no a",
        r#"error_recovery file_change {"changes":[{"path":"a","kind":"add"}]}"#,
        "observation ",
        r#"error_recovery mcp__desk__note {"n":1}"#,
        "observation closed",
        r#"error_recovery wait {"receiver_thread_ids":["t"]}"#,
        r#"observation {"t":"done"}"#,
        r#"tool_call web_search {"query":"a","action":{"type":"search"}}"#,
        "thought Done.",
    ];
    assert_eq!(steps(outcome.traces().next().unwrap()), expected);
}

#[test]
fn opencode_streams_begin_a_run_with_each_session() {
    let text = |session: &str, text: &str| {
        let part = json!({ "type": "text", "text": text });
        json!({ "type": "text", "sessionID": session, "timestamp": 1, "part": part })
    };
    let log = lines(&[text("a", "One"), text("a", "Two"), text("b", "Three")]);
    let objective = Some("Go".to_owned());
    let outcome =
        importing::import([log.as_bytes()], &Options { objective, ..importing::options() });
    assert_eq!(keys(&outcome), [Some("a"), Some("b")]);
    let traces: Vec<_> = outcome.traces().collect();
    assert_eq!(steps(traces[0]), ["thought One", "thought Two"]);
    assert_eq!(steps(traces[1]), ["thought Three"]);
}

#[test]
fn sessions_of_one_file_are_runs() {
    let record = |kind: &str, payload: Value| json!({ "type": kind, "payload": payload });
    let user = |text: &str| record("response_item", json!({ "role": "user", "content": text }));
    let outcome = import(&lines(&[
        record("session_meta", json!({ "id": "a" })),
        user("<turn_aborted>"),
        user("One"),
        record("response_item", json!({ "type": "ghost_snapshot" })),
        record("other", json!({})),
        user("Two"),
        record("session_meta", json!({ "id": "b" })),
        user("One"),
        user("Two"),
    ]));
    assert_eq!(keys(&outcome), [Some("a"), Some("b")]);
    let imported = outcome.traces().next().unwrap();
    assert_eq!(steps(imported), ["observation Two"]);
    let expected = json!({
        "context": 1, "part:ghost_snapshot": 1, "record:other": 1, "record:session_meta": 1,
    });
    assert_eq!(skipped(imported), expected);
}

fn errors(outcome: &Outcome) -> Vec<(Code, String)> {
    outcome.errors().map(|error| (error.code, error.message.clone())).collect()
}

#[test]
fn records_of_an_unknown_tool_are_an_error() {
    let known = ["user", "assistant"].map(|role| json!({ "role": role, "content": "a" }));
    let unknown =
        ["StepBegin", "ToolCall", "ToolResult"].map(|kind| json!({ "type": kind, "payload": 1 }));
    let errors = |unknown: &[Value]| errors(&import(&lines(&[&known, unknown].concat())));
    let found = "the log: expected records of a known format, found 3 of 5 of none: \
                 \"StepBegin\", \"ToolCall\", \"ToolResult\"";
    assert_eq!(errors(&unknown), [(Code::UnknownRecords, found.to_owned())]);
    assert_eq!(errors(&unknown[..1]), []);
}

#[test]
fn calls_of_an_unknown_shape_are_an_error() {
    let mut log = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": [{ "type": "tool_invocation", "text": "f" }] },
        { "role": "assistant", "content": "b" },
    ]);
    let found =
        "the log:1: expected calls of a known shape, found parts of the types tool_invocation";
    let found = (Code::UnknownRecords, found.to_owned());
    assert_eq!(errors(&import(&log.to_string())), std::slice::from_ref(&found));

    // Beside calls that are read, the caller decides.
    log[2]["tool_calls"] = json!([{ "function": { "name": "f" } }]);
    let log = log.to_string();
    let imported = |unread_calls| {
        let options = Options { unread_calls, ..importing::options() };
        let outcome = importing::import([log.as_bytes()], &options);
        (outcome.traces().count(), errors(&outcome))
    };
    assert_eq!(imported(UnreadCalls::RejectAll), (1, vec![]));
    assert_eq!(imported(UnreadCalls::RejectAny), (0, vec![found]));
    assert_eq!(imported(UnreadCalls::Skip), (1, vec![]));
}

#[test]
fn zip_archives_are_named() {
    let found = errors(&importing::import([&b"PK\x03\x04\x14\0"[..]], &importing::options()));
    assert!(found.len() == 1 && found[0].1.contains("ZIP"), "{found:?}");
}

#[test]
fn times_are_read_in_all_notations() {
    let read = |time: &Value| {
        let messages =
            json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }]);
        let imported = run_value(&json!({ "messages": messages, "created_at": time }));
        let created_at = value_of(&imported)["metadata"]["created_at"].clone();
        Some(created_at).filter(|_| imported.provenance.created_at_from == Origin::Source)
    };
    for (value, expected) in [
        (json!("2025-06-14T11:00:00Z"), "2025-06-14T11:00:00.000Z"),
        (json!("2025-06-14T11:00:00.1239+02:00"), "2025-06-14T09:00:00.123Z"),
        (json!("2025-06-14 11:00:00.5"), "2025-06-14T11:00:00.500Z"),
        (json!("2025-06-14"), "2025-06-14T00:00:00.000Z"),
        (json!("1969-12-31T23:59:59.9999Z"), "1969-12-31T23:59:59.999Z"),
        (json!("0000-01-01"), "0000-01-01T00:00:00.000Z"),
        (json!(1_749_898_800), "2025-06-14T11:00:00.000Z"),
        (json!(1_749_898_800.001), "2025-06-14T11:00:00.001Z"),
        (json!(1_749_898_800_001_u64), "2025-06-14T11:00:00.001Z"),
        (json!("1749898800001999"), "2025-06-14T11:00:00.001Z"),
        (json!("1749898800001999999"), "2025-06-14T11:00:00.001Z"),
        (json!([1_749_898_800, 1_999_999]), "2025-06-14T11:00:00.001Z"),
        (json!("1749898800.5"), "2025-06-14T11:00:00.500Z"),
    ] {
        assert_eq!(read(&value), Some(expected.into()), "{value}");
    }
    let before_year_0 = [json!("-000001-12-31T23:59:59Z"), json!([-62_167_219_201_i64, 0])];
    let no_times = [
        json!("yesterday"),
        json!(""),
        json!("1.2.3"),
        json!("."),
        json!(-1),
        json!([1]),
        json!(null),
    ];
    for value in before_year_0.into_iter().chain(no_times) {
        assert_eq!(read(&value), None, "{value}");
    }
}

#[test]
fn skipped_bounds_reasons_of_the_log() {
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

#[test]
fn unknown_format_names_the_tool_and_the_way() {
    let cases = [
        (json!({ "sessionID": "s", "role": "user" }), "`opencode export`"),
        (json!({ "source": "user", "type": "TextMessage" }), "AutoGen"),
        (json!({ "appName": "a", "events": [] }), "ADK"),
        (json!({ "conversations": [{ "from": "human" }] }), "ShareGPT"),
        (json!({ "custom_id": "1", "response": { "body": {} } }), "`request`"),
        (json!({ "values": { "messages": [] } }), "`values.messages`"),
        (json!({ "requests": [], "responderUsername": "r" }), "VS Code"),
        (json!({ "session_id": "s", "session_state": {} }), "Kiro CLI"),
        (json!({ "id": "1", "payload": { "type": "user", "executionId": "e" } }), "Kiro's IDE"),
        (json!({ "other": 1 }), "none"),
    ];
    let logs = cases.map(|(log, found)| (log.to_string(), found));
    for (log, found) in logs.into_iter().chain([("SQLite format 3\0\u{1}".into(), "SQLite")]) {
        let outcome = import(&log);
        let error = outcome.errors().next().unwrap();
        assert_eq!((outcome.items.len(), error.code), (1, Code::UnknownFormat), "{log}");
        assert!(error.message.contains(found), "{error}");
    }
}

#[test]
fn inspect_labels_are_not_what_a_model_says() {
    let log = |scores: Value| {
        let messages =
            json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" }]);
        let sample = json!({ "id": 1, "epoch": 1, "messages": messages, "scores": scores });
        json!({ "eval": { "run_id": "r" }, "status": "success", "samples": [sample] })
    };
    for (scores, label) in [
        (json!({ "match": { "value": "C" } }), Some(true)),
        (json!({ "match": { "value": 0.7 } }), Some(false)),
        (json!({ "model_graded_qa": { "value": "C" } }), None),
        (
            json!({ "inspect_ai/model_graded_fact": { "value": "P" }, "match": { "value": "I" } }),
            Some(false),
        ),
    ] {
        let imported = run_value(&log(scores.clone()));
        let success = value_of(&imported)["metadata"]["success"].as_bool();
        let is_label = imported.provenance.success_from == Origin::Label;
        assert_eq!(success.filter(|_| is_label), label, "{scores}");
    }
}

#[test]
fn swe_agent_statuses_of_what_was_submitted_say_nothing_of_the_work() {
    for (status, origin) in [
        ("submitted", Origin::Assumed),
        ("submitted (exit_cost)", Origin::Assumed),
        ("exit_cost", Origin::Status),
        ("exit_format", Origin::Status),
    ] {
        let imported = run_value(&json!({
            "trajectory": [],
            "history": [{ "role": "user", "content": "a", "agent": "main" }, { "role": "assistant", "content": "b" }],
            "info": { "exit_status": status },
        }));
        assert_eq!(imported.provenance.success_from, origin, "{status}");
    }
}

/// Returns the objective, the steps and what is skipped of a run.
fn told(imported: &Imported) -> (Value, Vec<String>, Value) {
    let objective = value_of(imported)["task"]["objective"].clone();
    (objective, steps(imported), skipped(imported))
}

#[test]
fn cline_sessions_have_what_a_person_wrote_in_tags() {
    let user = |texts: &[&str]| {
        let parts: Vec<_> =
            texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        json!({ "role": "user", "content": parts, "ts": 1_785_578_400_000_u64 })
    };
    let messages = json!([
        user(&["<mode_notice>\nPlan mode\n</mode_notice>\n<user_input mode=\"plan\">Fix it</user_input>"]),
        { "role": "assistant", "content": [{ "type": "text", "text": "How?" }], "modelInfo": { "id": "m" } },
        user(&["<mode_notice>Act</mode_notice>", "<user_command slash=\"review\">Look</user_command> at a <b>"]),
    ]);
    let session = json!({ "version": 1, "updated_at": "2026-08-01T10:00:00.000Z", "agent": "lead", "sessionId": "s", "messages": messages });
    let expected = (
        json!("Fix it"),
        vec!["thought How?".to_owned(), "observation Look at a <b>".into()],
        json!({ "context": 2 }),
    );
    let imported = run_value(&session);
    assert_eq!(told(&imported), expected);
    assert_eq!(imported.provenance.key.as_deref(), Some("s"));
    let metadata = value_of(&imported)["metadata"].clone();
    assert_eq!(
        (&metadata["task_domain"], &metadata["framework"]),
        (&json!("code"), &json!("cline"))
    );
    assert_eq!(metadata["created_at"], "2026-08-01T10:00:00.000Z");
    assert_eq!(imported.provenance.facts.as_ref().unwrap().models, ["m"]);
    // The messages alone are a conversation.
    assert_eq!(told(&run_value(&messages)), expected);
    let other = import(&with(session, json!({ "agent": "teammate" })).to_string());
    assert_eq!(importing::skipped(&other.report.skipped), json!({ "subagent": 1 }));
}

#[test]
fn summaries_of_roo_and_the_setup_of_gemini_cli_are_no_persons() {
    let text = |role: &str, text: &str| json!({ "role": role, "parts": [{ "text": text }] });
    let setup = "This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Friday.";
    let (task, answer) = (text("user", "Fix it"), text("model", "Done"));
    let expected =
        |reason: &str| (json!("Fix it"), vec!["thought Done".to_owned()], json!({ reason: 1 }));
    let checkpoint = run_value(&json!([text("user", setup), task, answer]));
    assert_eq!(told(&checkpoint), expected("context"));
    let session = json!({ "sessionId": "s", "projectHash": "p", "messages": [
        { "type": "user", "content": setup }, { "type": "user", "content": "Fix it" }, { "type": "gemini", "content": "Done" },
    ] });
    assert_eq!(told(&run_value(&session)), expected("context"));
    for role in ["user", "assistant"] {
        let summary =
            json!({ "role": role, "content": "All so far", "isSummary": true, "condenseId": "c" });
        assert_eq!(told(&run_value(&json!([task, summary, answer]))), expected("compact_summary"));
    }
}

#[test]
fn openclaw_and_qwen_code_write_texts_that_are_no_persons() {
    let message = |role: &str, text: &str| json!({ "type": "message", "message": { "role": role, "content": [{ "type": "text", "text": text }] } });
    let block = |name: &str| {
        format!("{name} (untrusted metadata):\n```json\n{{\n  \"id\": \"1\"\n}}\n```\n\n")
    };
    let imported = run(&lines(&[
        json!({ "type": "session", "id": "s" }),
        message("user", "A new session was started via /new or /reset. Greet the user."),
        message("assistant", "Hi"),
        message(
            "user",
            &(block("Conversation info")
                + &block("Sender")
                + "[Wed 2026-02-11 10:00 GMT+8] Fix [it]"),
        ),
        message("user", "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly."),
        message("user", &block("Sender")),
        message("user", "[a] b"),
    ]));
    let expected = vec!["thought Hi".to_owned(), "observation [a] b".into()];
    let skipped = json!({ "context": 4, "record:session": 1 });
    assert_eq!(told(&imported), (json!("Fix [it]"), expected, skipped));

    let record = |kind: &str, subtype: Option<&str>, text: &str| json!({ "type": kind, "uuid": text, "sessionId": "s", "subtype": subtype, "message": { "parts": [{ "text": text }] } });
    let imported = run(&lines(&[
        record("user", Some("cron"), "Nightly"),
        record("user", None, "Fix it"),
        record("assistant", None, "Done"),
    ]));
    assert_eq!(
        told(&imported),
        (json!("Fix it"), vec!["thought Done".into()], json!({ "context": 1 }))
    );
}
