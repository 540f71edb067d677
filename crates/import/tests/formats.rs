//! Rules of single formats that no sample shows.

use std::{fs, path::PathBuf};

use knowledgepulse_import::{AssumeSuccess, Imported, Importer, Options, Report};
use serde_json::{Value, json};

/// Imports inputs, of which those with a path are files.
fn import(inputs: &[(&str, Option<PathBuf>, String)]) -> (Vec<Imported>, Report) {
    let assume_success = Some(AssumeSuccess::Always(true));
    let files = inputs.iter().filter_map(|(_, path, _)| path.clone()).collect();
    let mut importer = Importer::new(Options { assume_success, ..Options::default() }, files);
    let mut traces = Vec::new();
    for (name, path, log) in inputs {
        importer.open(name, path.clone());
        importer.push(log.as_bytes());
        importer.end();
        while let Some(result) = importer.next() {
            traces.push(result.unwrap());
        }
    }
    let report = importer.report().clone();
    (traces, report)
}

/// Imports the one run of a log.
fn run(log: &str) -> Imported {
    let (mut traces, report) = import(&[("log", None, log.into())]);
    assert_eq!(traces.len(), 1, "{report:?}");
    traces.remove(0)
}

/// Returns the types of the steps, with the names of tools and the contents.
fn steps(imported: &Imported) -> Vec<String> {
    let steps = imported.trace["steps"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let step = |step: &Value| {
        format!("{} {}{}", text(&step["type"]), text(&step["content"]), text(&step["tool"]["name"]))
    };
    steps.iter().map(step).collect()
}

fn skipped(imported: &Imported) -> Value {
    serde_json::to_value(&imported.provenance.skipped).unwrap()
}

#[test]
fn atif_continuations_follow_in_any_order_of_inputs() {
    let folder = folder_of("atif_continuations");
    let file = |name: &str, next: Option<&str>, says: &str| {
        let document = json!({
            "schema_version": "ATIF-v1.6", "session_id": "s", "trajectory_id": "t",
            "continued_trajectory_ref": next,
            "steps": [{ "source": "agent", "message": says }, { "source": "user", "message": "Go on" }],
        });
        let path = folder.join(name);
        fs::write(&path, document.to_string()).unwrap();
        (path, document.to_string())
    };
    let (first, first_log) = file("1.json", Some("2.json"), "one");
    let (second, second_log) = file("2.json", Some("3.json"), "two");
    let (third, third_log) = file("3.json", Some("4.json"), "three");
    let inputs = [
        ("3", Some(third), third_log),
        ("1", Some(first), first_log),
        ("2", Some(second), second_log),
    ];
    let (traces, report) = import(&inputs);
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0].provenance.key.as_deref(), Some("s/t"));
    let expected =
        ["thought one", "thought two", "observation Go on", "thought three", "observation Go on"];
    assert_eq!(steps(&traces[0]), expected);
    assert_eq!(skipped(&traces[0]), json!({ "continuation_missing": 1 }));
    let report = serde_json::to_value(report).unwrap();
    for index in [0, 2] {
        assert_eq!(report["inputs"][index]["skipped"], json!({ "continuation_merged": 1 }));
    }
    fs::remove_dir_all(folder).unwrap();
}

fn folder_of(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn atif_leaves_out_copies_compactions_and_subagents() {
    let steps_of_log = json!([
        { "source": "user", "message": "Fix it", "is_copied_context": true, "timestamp": 1 },
        { "source": "agent", "message": "Old", "is_copied_context": true },
        { "source": "tool", "message": "?", "observation": { "results": [{ "content": "no" }] } },
        { "source": "agent", "reasoning_content": "Think", "message": "Do", "tool_calls": [
            { "tool_call_id": "a", "function_name": "f", "arguments": {} },
        ], "observation": { "results": [
            { "source_call_id": "a", "content": [{ "type": "text", "text": "Error: no" }] },
            { "subagent_trajectory_ref": [] },
        ] } },
        { "source": "system", "message": "Compact", "extra": { "context_management": {} },
          "observation": { "results": [{ "content": "summary" }] } },
        { "source": "agent", "message": "", "tool_calls": [{ "function_name": "g" }] },
    ]);
    let imported = run(&json!({
        "schema_version": "ATIF-v1.7", "steps": steps_of_log, "subagent_trajectories": [{}, {}],
    })
    .to_string());
    assert_eq!(imported.trace["task"]["objective"], "Fix it");
    assert_eq!(serde_json::to_value(imported.provenance.objective_from).unwrap(), "copied");
    assert_eq!(imported.trace["metadata"]["created_at"], "1970-01-01T00:00:01.000Z");
    assert_eq!(imported.provenance.key, None);
    let expected =
        ["thought Think", "thought Do", "tool_call f", "observation Error: no", "error_recovery g"];
    assert_eq!(steps(&imported), expected);
    let expected = json!({
        "compaction": 1, "copied_context": 2, "role:tool": 1, "subagent": 2, "subagent_ref": 1, "system": 1,
    });
    assert_eq!(skipped(&imported), expected);
}

#[test]
fn atif_blank_copies_are_no_objective() {
    let copy = |text: &str| json!({ "source": "user", "message": text, "is_copied_context": true });
    let imported = run(&json!({
        "schema_version": "ATIF-v1.7",
        "steps": [copy(" "), copy("Fix it"), { "source": "agent", "message": "Done" }],
    })
    .to_string());
    assert_eq!(imported.trace["task"]["objective"], "Fix it");
}

#[test]
fn claude_code_texts_take_the_place_of_those_they_begin_with() {
    let record = |kind: &str, content: Value| {
        json!({ "type": kind, "sessionId": "s", "message": { "id": "m", "content": content } })
            .to_string()
    };
    let parts = ["b", "ab", "abc", "a", "bd", "ab", "ac", "abcd"]
        .map(|text| json!({ "type": "text", "text": text }))
        .into_iter()
        .chain([json!({ "type": "thinking", "thinking": "ab" })]);
    let log = [record("user", "Go".into()), record("assistant", parts.collect())];
    let imported = run(&log.join("\n"));
    let expected = ["thought bd", "thought abcd", "thought ac", "thought ab"];
    assert_eq!(steps(&imported), expected);
    assert_eq!(skipped(&imported), json!({ "repeated": 5 }));
}

#[test]
fn swe_agent_with_calls_is_read_from_its_history() {
    let imported = run(&json!({
        "trajectory": [{ "thought": "not read", "action": "x" }],
        "history": [
            { "role": "system", "content": "s", "agent": "main" },
            { "role": "user", "content": "An example", "message_type": "demonstration" },
            { "role": "user", "content": "Fix it" },
            { "role": "assistant", "content": "Run", "tool_calls": [
                { "id": "a", "type": "function", "function": { "name": "bash", "arguments": "{}" } },
            ] },
            { "role": "tool", "content": "EXECUTION TIMED OUT", "tool_call_ids": ["a"] },
            { "role": "assistant", "content": "", "tool_calls": [
                { "id": "b", "type": "function", "function": { "name": "submit", "arguments": "{}" } },
            ] },
        ],
        "info": { "exit_status": "exit_cost" },
    })
    .to_string());
    let expected = [
        "thought Run",
        "tool_call bash",
        "observation EXECUTION TIMED OUT",
        "error_recovery submit",
    ];
    assert_eq!(steps(&imported), expected);
    assert_eq!(skipped(&imported), json!({ "demonstration": 1, "system": 1 }));
    assert_eq!(imported.trace["metadata"]["success"], false);
}

#[test]
fn mini_swe_agent_is_told_by_its_commands_and_reads_responses() {
    let answer = "```mswea_bash_command\nls\n```";
    let imported = run(&json!([
        { "role": "user", "content": "Look" },
        { "role": "assistant", "content": answer },
        { "role": "user", "content": "<returncode>1</returncode>" },
        { "role": "assistant", "content": answer },
    ])
    .to_string());
    assert_eq!(imported.provenance.format, "mini-swe-agent");
    let expected =
        ["tool_call bash", "observation <returncode>1</returncode>", "error_recovery bash"];
    assert_eq!(steps(&imported), expected);

    let imported = run(&json!({ "trajectory_format": "mini-swe-agent-1.1", "messages": [
        { "role": "user", "content": "Look" },
        { "object": "response", "output": [
            { "type": "function_call", "name": "bash", "arguments": "{}", "call_id": "a" },
        ] },
        { "type": "function_call_output", "call_id": "a", "output": "x" },
        { "role": "exit", "content": "" },
    ] })
    .to_string());
    assert_eq!(steps(&imported), ["tool_call bash", "observation x"]);
}

#[test]
fn sessions_of_one_file_are_runs() {
    let user = |text: &str| {
        json!({ "type": "response_item", "payload": { "role": "user", "content": text } })
            .to_string()
    };
    let log = [
        json!({ "type": "session_meta", "payload": { "id": "a" } }).to_string(),
        user("<turn_aborted>"),
        user("One"),
        json!({ "type": "response_item", "payload": { "type": "ghost_snapshot" } }).to_string(),
        json!({ "type": "other" }).to_string(),
        user("Two"),
        json!({ "type": "session_meta", "payload": { "id": "b" } }).to_string(),
        user("One"),
        user("Two"),
    ];
    let (traces, _) = import(&[("log", None, log.join("\n"))]);
    let keys: Vec<_> = traces.iter().map(|trace| trace.provenance.key.as_deref()).collect();
    assert_eq!(keys, [Some("a"), Some("b")]);
    assert_eq!(steps(&traces[0]), ["observation Two"]);
    let expected = json!({
        "context": 1, "part:ghost_snapshot": 1, "record:other": 1, "record:session_meta": 1,
    });
    assert_eq!(skipped(&traces[0]), expected);
}
