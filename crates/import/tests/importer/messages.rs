//! Conversations that later lines continue, in files and streams.

use knowledgepulse_import::Importer;
use knowledgepulse_test_support::importing::{self, run};
use serde_json::{Value, json};

use crate::{lines, run_value, skipped, steps, with};

#[test]
fn messages_of_a_growing_history_are_one_run() {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let answer = |text: &str| json!({ "role": "assistant", "content": text });
    let answered = |messages: &[Value], text: &str| {
        let choice = json!({ "message": answer(text) });
        json!({ "request": { "messages": messages }, "response": { "choices": [choice] } })
    };
    let begun = [user("Sum"), answer("Of?"), user("1 and 2")];
    let log = lines(&[
        answered(&begun[..1], "Of?"),
        answered(&begun, "3"),
        // Another answer to the same, and the same again.
        answered(&begun, "4"),
        answered(&begun, "4"),
        json!({ "messages": [user("Other"), answer("Done")] }),
    ]);
    let outcome = importing::check(log.as_bytes(), 1, &importing::options());
    let found = outcome.traces().map(|run| (run.provenance.source.line, steps(run).len()));
    assert_eq!(found.collect::<Vec<_>>(), [(2, 3), (3, 3), (4, 3), (5, 1)]);
    assert_eq!(importing::skipped(&outcome.report.skipped), json!({ "continued": 1 }));

    let mut importer = Importer::new(importing::options());
    for (name, piece) in [("bytes", 1), ("whole", log.len())] {
        importer.open_stream(name);
        let mut found = Vec::new();
        for bytes in log.as_bytes().chunks(piece) {
            importer.push(bytes);
            while let Some(run) = importer.next() {
                found.push(run.unwrap().provenance.source.line);
            }
        }
        assert_eq!(found, [1, 2, 3, 4, 5], "{name}");
    }
}

#[test]
fn messages_of_growing_histories_that_alternate_are_a_run_for_each() {
    let text = |role: &str, text: String| json!({ "role": role, "content": text });
    let request = |conversation: usize, rounds: usize| {
        let messages = (0..rounds).flat_map(|round| {
            [text("user", format!("{conversation} asks {round}")), text("assistant", "Yes".into())]
        });
        json!({ "messages": messages.collect::<Vec<_>>() })
    };
    // Messages by themselves stand where the first of them does.
    let message = text("user", "Go".into());
    let answer = text("assistant", "No".into());
    let begin = [request(0, 1), message, request(1, 1)];
    let rounds = (2..=5).flat_map(|rounds| [request(1, rounds), request(0, rounds)]);
    let records: Vec<_> = begin.into_iter().chain(rounds).chain([answer]).collect();
    let outcome = importing::check(lines(&records).as_bytes(), 7, &importing::options());
    let found: Vec<_> = outcome.traces().map(|run| steps(run).len()).collect();
    assert_eq!(found, [9, 1, 9]);
    assert_eq!(importing::skipped(&outcome.report.skipped), json!({ "continued": 8 }));

    // Of nine that alternate none goes on.
    let rounds = (1..=2).flat_map(|rounds| (0..9).map(move |index| (index, rounds)));
    let records: Vec<_> = rounds.map(|(index, rounds)| request(index, rounds)).collect();
    let outcome = importing::check(lines(&records).as_bytes(), 7, &importing::options());
    assert_eq!(outcome.traces().count(), 18);
}

/// Returns the steps, and what is skipped, of a conversation that asks the assistant for something.
fn conversation(answers: &[Value]) -> (Vec<String>, Value) {
    let user = json!({ "role": "user", "content": "a" });
    let messages: Vec<_> = std::iter::once(&user).chain(answers).collect();
    let imported = run_value(&json!(messages));
    (steps(&imported), skipped(&imported))
}

#[test]
fn ids_that_are_used_again_after_an_answer_are_those_of_new_calls() {
    let claude =
        |kind: &str, message: Value| json!({ "type": kind, "sessionId": "s", "message": message });
    let claude_call = |message: &str, name: &str| {
        let part = json!({ "type": "tool_use", "id": "a", "name": name, "input": {} });
        claude("assistant", json!({ "id": message, "content": [part] }))
    };
    let claude_result = |text: &str| {
        let part = json!({ "type": "tool_result", "tool_use_id": "a", "content": text });
        claude("user", json!({ "content": [part] }))
    };
    let cursor = |subtype: &str, request: &str, name: &str, text: &str| {
        let mut tool = json!({ "args": {} });
        if subtype == "completed" {
            tool["result"] = json!({ "success": { "content": text } });
        }
        json!({
            "type": "tool_call", "subtype": subtype, "session_id": "s", "call_id": "a",
            "model_call_id": request, "tool_call": { format!("{name}ToolCall"): tool },
        })
    };
    let cursor_user = json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": "Go" } });
    let cursor_begin =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "apiKeySource": "x" });
    let gemini = |name: &str, text: &str| {
        let response = json!({ "functionResponse": { "id": "a", "name": name, "response": { "output": text } } });
        let answer = json!({ "type": "gemini", "toolCalls": [{ "id": "a", "name": name, "result": [response] }] });
        [answer, json!({ "type": "user", "content": [response] })]
    };
    // The second result stands in the message of the user alone.
    let mut gemini_second = gemini("g", "2");
    gemini_second[0]["toolCalls"][0].as_object_mut().unwrap().remove("result");
    let copilot = |kind: &str, data: Value| json!({ "type": kind, "data": data });
    let copilot_call = |name: &str, text: &str| {
        let result = json!({ "toolCallId": "a", "success": true, "result": { "content": text } });
        [
            copilot(
                "tool.execution_start",
                json!({ "toolCallId": "a", "toolName": name, "arguments": {} }),
            ),
            copilot("tool.execution_complete", result),
        ]
    };
    let codex = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let codex_call = |name: &str, text: &str| {
        [
            codex(
                json!({ "type": "function_call", "call_id": "a", "name": name, "arguments": "{}" }),
            ),
            codex(json!({ "type": "function_call_output", "call_id": "a", "output": text })),
        ]
    };
    let codex_begin = [
        json!({ "type": "session_meta", "payload": { "id": "s" } }),
        codex(json!({ "type": "message", "role": "user", "content": "Go" })),
    ];
    let chat = |name: &str, text: &str| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": name, "arguments": "{}" } });
        [
            json!({ "role": "assistant", "tool_calls": [call] }),
            json!({ "role": "tool", "tool_call_id": "a", "content": text }),
        ]
    };
    let user = json!({ "role": "user", "content": "Go" });
    for (format, log) in [
        // The first record of the second call comes twice.
        (
            "claude-code",
            vec![
                claude("user", json!({ "content": "Go" })),
                claude_call("1", "f"),
                claude_result("1"),
                claude_call("2", "h"),
                claude_call("2", "g"),
                claude_result("?"),
                claude_result("2"),
            ],
        ),
        (
            "cursor",
            vec![
                cursor_begin,
                cursor_user,
                cursor("started", "1", "f", ""),
                cursor("completed", "1", "f", "1"),
                cursor("started", "2", "g", ""),
                cursor("started", "2", "g", ""),
                cursor("completed", "2", "g", "2"),
            ],
        ),
        (
            "gemini-cli",
            [
                vec![
                    json!({ "sessionId": "s", "projectHash": "p" }),
                    json!({ "type": "user", "content": "Go" }),
                ],
                gemini("f", "1").into(),
                gemini_second.into(),
            ]
            .concat(),
        ),
        (
            "copilot-cli",
            [
                vec![copilot("user.message", json!({ "content": "Go" }))],
                copilot_call("f", "1").into(),
                copilot_call("g", "2").into(),
            ]
            .concat(),
        ),
        ("codex", [&codex_begin[..], &codex_call("f", "1"), &codex_call("g", "2")].concat()),
        ("messages", [vec![user], chat("f", "1").into(), chat("g", "2").into()].concat()),
    ] {
        let imported = run(&lines(&log));
        assert_eq!(imported.provenance.format, format);
        let expected = ["tool_call f", "observation 1", "tool_call g", "observation 2"];
        assert_eq!(steps(&imported), expected, "{format}");
        let facts = imported.provenance.facts.unwrap();
        assert_eq!((facts.calls, facts.unanswered, facts.failed), (2, 0, 0), "{format}");
    }
}

#[test]
fn messages_in_exports_of_tables_have_calls_and_parts_as_json_in_strings() {
    let function = json!({ "name": "f", "arguments": "{\"a\":1}" });
    let call = json!({ "id": "1", "type": "function", "function": function });
    let text = json!({ "type": "text", "text": "b" });
    let part = json!({ "type": "tool_use", "id": "1", "name": "f", "input": { "a": 1 } });
    let called = "tool_call f {\"a\":1}".to_owned();
    let marked = |value: &Value| format!("\0json:{value}");
    let result = json!({ "role": "tool", "tool_call_id": "1", "content": marked(&json!([text])) });
    for answer in [
        json!({ "content": "b", "tool_calls": json!([call]).to_string() }),
        json!({ "content": "b", "tool_calls": call.to_string() }),
        json!({ "content": "b", "tool_calls": [call.to_string()] }),
        json!({ "content": "b", "tool_calls": marked(&json!([call])) }),
        json!({ "content": "b", "tool_calls": "[]", "function_call": function.to_string() }),
        json!({ "content": json!([text, part]).to_string(), "tool_calls": "" }),
        json!({ "content": marked(&json!([text, part])), "tool_calls": null }),
        json!({ "content": "", "parts": json!([{ "text": "b" }, { "functionCall": { "name": "f", "args": { "a": 1 } } }]).to_string() }),
    ] {
        let answer = with(answer, json!({ "role": "assistant" }));
        let (found, skipped) = conversation(&[answer.clone(), result.clone()]);
        let expected = ["thought b".to_owned(), called.clone(), "observation b".into()];
        assert_eq!((&found[..], skipped), (&expected[..], json!({})), "{answer}");
    }
    // Other JSON is what the assistant said, and what is no call is counted.
    for content in
        ["{\"type\":1}", "[]", "[{\"type\":\"car\"}]", "[{\"type\":\"text\"", "{\"a\":\"text\"}"]
    {
        let answer = json!({ "role": "assistant", "content": content });
        assert_eq!(conversation(&[answer]).0, [format!("thought {content}")]);
    }
    for calls in [json!("f(1)"), json!(1), json!([1]), json!("[\"f\"]")] {
        let answer = json!({ "role": "assistant", "content": "b", "tool_calls": calls });
        let expected = (vec!["thought b".to_owned()], json!({ "malformed": 1 }));
        assert_eq!(conversation(&[answer]), expected, "{calls}");
    }
}

#[test]
fn exit_code_around_the_output_stands_over_the_words_in_it() {
    let failed = |text: &str| {
        let call = json!({ "role": "assistant", "tool_calls": [{ "id": "1", "function": { "name": "f" } }] });
        let user = json!({ "role": "user", "content": "a" });
        let result = json!({ "role": "tool", "tool_call_id": "1", "content": text });
        run_value(&json!([user, call, result])).provenance.facts.unwrap().failed == 1
    };
    for text in [
        "Process exited with code 0\nOutput:\nfail\nexit code 1",
        "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nExit code: 2\n",
        "Exit code: 0\nOutput:\nTraceback\nreturncode=1",
        "<returncode>0</returncode>\n<output>\nexit status 3\n</output>",
        "a\nexit code 1\n[The command completed with exit code 0.]\n[Current working directory: /a]",
        "Error: no\n[The command completed with exit code 0.]",
        "exit code 0",
        "exit code 07",
    ] {
        assert!(!failed(text), "{text}");
    }
    for text in [
        "Process exited with code 1\nOutput:\nexit code 0",
        "Chunk ID: 1\nProcess exited with code -1\nOutput:\n[exit code 0]",
        "a\nexit code 0\nexit code 1",
        "a\nexit code 1\nexit code 0",
        "Error: no\nexit code 0",
        "a\n[exit code 0]\nexit code 10",
        "a\nexit code 1\n[exit code 0]\nb",
    ] {
        assert!(failed(text), "{text}");
    }
}

#[test]
fn messages_of_a_growing_history_are_one_run_though_it_has_no_reasoning() {
    let user = |text: &str| json!({ "role": "user", "content": text });
    let call =
        json!({ "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let called = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let result = json!({ "role": "tool", "tool_call_id": "1", "content": "2" });
    let chat = |messages: &[Value], answer: Value| {
        let choice = json!({ "message": answer });
        json!({ "request": { "messages": messages }, "response": { "choices": [choice] } })
    };
    let chats = [
        chat(&[user("a")], with(called.clone(), json!({ "reasoning_content": "b" }))),
        chat(
            &[user("a"), called, result],
            json!({ "role": "assistant", "content": "d", "reasoning_content": "c" }),
        ),
    ];
    let reasoning = |text: &str| json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }] });
    let item = json!({ "type": "function_call", "call_id": "1", "name": "f", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "1", "output": "2" });
    let said = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "d" }] });
    let responses = [
        json!({ "input": [user("a")], "output": [reasoning("b"), item] }),
        json!({ "input": [user("a"), item, output], "output": [reasoning("c"), said] }),
    ];
    for log in [chats, responses] {
        let outcome = importing::check(lines(&log).as_bytes(), 7, &importing::options());
        let found: Vec<_> = outcome.traces().map(steps).collect();
        let expected = ["tool_call f", "observation 2", "thought c", "thought d"];
        assert_eq!(found, [expected]);
        assert_eq!(importing::skipped(&outcome.report.skipped), json!({ "continued": 1 }));
    }
}

#[test]
fn facts_count_results_of_calls_alone() {
    let result =
        |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let log = [
        json!({ "role": "user", "content": "Go" }),
        result("?", "Error: no"),
        result("?", "Tool execution was not approved."),
        json!({ "role": "assistant", "tool_calls": [{ "id": "1", "function": { "name": "f" } }] }),
        result("1", "Error: no"),
        result("?", "Error: no"),
        // The id of a call that was refused is used again.
        json!({ "role": "assistant", "content": [{ "type": "tool-call", "toolCallId": "2", "toolName": "g" }] }),
        json!({ "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "2", "output": { "type": "execution-denied" } }] }),
        json!({ "role": "assistant", "content": [{ "type": "tool-call", "toolCallId": "2", "toolName": "g" }] }),
        result("2", "ok"),
    ];
    let facts = json!({ "calls": 3, "failed": 1, "refused": 1, "unanswered": 0, "retries": 0, "userMessages": 1 });
    assert_eq!(json!(run(&lines(&log)).provenance.facts), facts);
}
