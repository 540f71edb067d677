//! Facts of runs, by hand from what each format says.

use serde_json::{Value, json};

use crate::{import, lines, with};

/// Imports a log of one run, and compares its facts.
fn check(log: &[Value], expected: &Value) {
    let outcome = import(&lines(log));
    let facts = outcome.traces().next().and_then(|run| run.provenance.facts.clone());
    assert_eq!(&json!(facts), expected, "{:?}", outcome.items);
    // A trace does not depend on them.
    assert_eq!(outcome.traces().count(), 1);
}

/// Returns the facts of a run with one message of a person and calls without answers, and other facts.
fn general(calls: u32, others: Value) -> Value {
    let facts = json!({ "calls": calls, "failed": 0, "refused": 0, "unanswered": calls, "retries": 0, "userMessages": 1 });
    with(facts, others)
}

/// Returns a time of day.
fn at(minute: u32, second: u32) -> String {
    format!("2026-03-02T08:{minute:02}:{second:02}.000Z")
}

#[test]
fn facts_of_claude_code_take_the_last_usage_of_each_message() {
    let record = |kind: &str, time: String, message: Value| json!({ "type": kind, "sessionId": "s", "timestamp": time, "message": message });
    let answer = |second, id: &str, output: u32, content: &[Value]| {
        let usage = json!({ "input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20 });
        let message = json!({ "id": id, "model": "opus", "usage": usage, "content": content });
        record("assistant", at(1, second), message)
    };
    let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let result = |second, id: &str, text: &str, failed: bool| {
        let part = json!({ "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": text });
        record("user", at(1, second), json!({ "content": [part] }))
    };
    let of_agent = |second, id: &str, calls: u32| {
        let calls = json!({ "totalToolUseCount": calls });
        with(result(second, id, "ok", false), json!({ "toolUseResult": calls }))
    };
    let said = |time, text: &str| record("user", time, json!({ "content": text }));
    let place = |cwd: &str, branch: &str| json!({ "cwd": cwd, "gitBranch": branch });
    let refusal = "The user doesn't want to proceed with this tool use.";
    let first = [
        call("a", "Bash", json!({ "x": 1, "y": 2 })),
        call("b", "Edit", json!({})),
        call("c", "Agent", json!({})),
        call("d", "Task", json!({})),
        call("e", "Agent", json!({})),
    ];
    // The same call with its members in another order, twice: one failure is retried once.
    let second = [
        call("f", "Bash", json!({ "y": 2, "x": 1 })),
        call("g", "Bash", json!({ "x": 1, "y": 2 })),
        call("h", "Edit", json!({})),
    ];
    let failed = json!({ "id": "m4", "model": "<synthetic>", "usage": { "input_tokens": 9, "output_tokens": 9 }, "content": [] });
    let log = [
        // The gap before a command is no work of the agent.
        said(at(0, 0), "<command-name>/clear</command-name>"),
        with(said(at(1, 0), "Go"), place("/a", "")),
        with(answer(2, "m1", 1, &[json!({ "type": "text", "text": "I" })]), place("/b", "main")),
        answer(3, "m1", 7, &first),
        result(5, "a", "Exit code 1", true),
        result(6, "b", refusal, true),
        of_agent(7, "c", 4),
        of_agent(8, "d", 5),
        result(9, "e", "no such agent", true),
        answer(10, "m2", 2, &second),
        with(answer(11, "m3", 9, &[]), json!({ "isSidechain": true })),
        with(record("assistant", at(1, 12), failed), json!({ "isApiErrorMessage": true })),
        said(at(1, 20), "[Request interrupted by user]"),
        // At most ten minutes of a pause are work.
        record("system", at(30, 0), Value::Null),
        said(at(50, 0), "On"),
    ];
    let expected = json!({
        "calls": 8, "failed": 2, "refused": 1, "unanswered": 3, "retries": 1, "interruptions": 1, "userMessages": 2,
        "tokens": { "input": 6, "output": 9, "cacheRead": 200, "cacheWrite": 40 }, "models": ["opus"],
        "wallMs": 3_000_000, "activeMs": 620_000, "cwd": "/a", "branch": "main", "subagents": { "launched": 2, "calls": 9 },
    });
    check(&log, &expected);
}

#[test]
fn facts_of_codex_take_the_last_total_of_tokens() {
    let record = |second: u32, kind: &str, payload: Value| json!({ "timestamp": at(0, second), "type": kind, "payload": payload });
    let total = |input: u32, output: u32| {
        let usage = json!({ "input_tokens": input, "cached_input_tokens": 40, "output_tokens": output, "reasoning_output_tokens": 5 });
        json!({ "type": "token_count", "info": { "total_token_usage": usage, "last_token_usage": { "input_tokens": 1, "output_tokens": 1 } } })
    };
    let call = |id: &str, name: &str| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": "{}" });
    let output = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    let message = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Go" }] });
    let meta = |cwd: &str| json!({ "id": "s", "cwd": cwd, "git": { "branch": "dev" } });
    let log = [
        record(0, "session_meta", meta("/a")),
        record(1, "turn_context", json!({ "model": "gpt-a" })),
        record(9, "event_msg", json!({ "type": "user_message", "message": "Go" })),
        record(9, "response_item", message),
        record(10, "response_item", call("1", "exec_command")),
        record(11, "response_item", output("1", "Process exited with code 2")),
        record(12, "event_msg", total(100, 10)),
        record(12, "session_meta", meta("/b")),
        record(13, "turn_context", json!({ "model": "gpt-b" })),
        record(14, "response_item", call("2", "exec_command")),
        record(15, "response_item", output("2", "exec command rejected by user")),
        record(16, "response_item", call("3", "spawn_agent")),
        record(17, "event_msg", total(300, 30)),
        record(17, "event_msg", json!({ "type": "token_count", "info": null })),
        record(18, "event_msg", json!({ "type": "turn_aborted", "reason": "interrupted" })),
        record(19, "event_msg", json!({ "type": "turn_aborted", "reason": "replaced" })),
    ];
    let expected = json!({
        "calls": 3, "failed": 1, "refused": 1, "unanswered": 1, "retries": 1, "interruptions": 1, "userMessages": 1,
        "tokens": { "input": 260, "output": 30, "cacheRead": 40 }, "models": ["gpt-a", "gpt-b"],
        "wallMs": 19_000, "activeMs": 11_000, "cwd": "/a", "branch": "dev", "subagents": { "launched": 1 },
    });
    check(&log, &expected);
}

#[test]
fn facts_of_copilot_cli_have_tokens_of_one_shutdown() {
    let record = |second: u32, kind: &str, data: Value| json!({ "timestamp": at(0, second), "type": kind, "data": data });
    let usage = |input: u32| json!({ "usage": { "inputTokens": input, "outputTokens": 5, "cacheReadTokens": 30, "cacheWriteTokens": 10 } });
    let metrics = json!({ "a": usage(100), "b": usage(50) });
    let shutdown = record(9, "session.shutdown", json!({ "modelMetrics": metrics }));
    let answer = |second, model: &str| {
        record(second, "assistant.message", json!({ "content": "Hi", "model": model }))
    };
    let context = json!({ "cwd": "/a", "branch": "main" });
    let mut log = vec![
        record(0, "session.start", json!({ "sessionId": "s", "context": context })),
        record(1, "user.message", json!({ "content": "Go" })),
        answer(2, "b"),
        record(3, "subagent.started", json!({ "toolCallId": "t" })),
        record(4, "abort", json!({ "reason": "user initiated" })),
        answer(5, "a"),
        shutdown.clone(),
    ];
    let mut expected = json!({
        "calls": 0, "failed": 0, "refused": 0, "unanswered": 0, "retries": 0, "interruptions": 1, "userMessages": 1,
        "tokens": { "input": 70, "output": 10, "cacheRead": 60, "cacheWrite": 20 }, "models": ["b", "a"],
        "wallMs": 9000, "activeMs": 8000, "cwd": "/a", "branch": "main", "subagents": { "launched": 1 },
    });
    check(&log, &expected);
    // Whether the usage of a resumed session begins anew is unknown.
    expected.as_object_mut().unwrap().remove("tokens");
    log.push(shutdown);
    check(&log, &expected);
    log.remove(6);
    log.push(answer(9, "a"));
    check(&log, &expected);
}

#[test]
fn facts_of_other_agents_are_where_their_logs_have_them() {
    let gemini = json!({
        "sessionId": "s", "projectHash": "p", "startTime": at(0, 0), "lastUpdated": at(9, 0), "messages": [
            { "id": "1", "type": "user", "timestamp": at(1, 0), "content": "Go" },
            { "id": "2", "type": "gemini", "timestamp": at(1, 5), "content": "I", "model": "flash", "tokens": { "input": 9, "output": 9 } },
            { "id": "2", "type": "gemini", "timestamp": at(1, 5), "content": "I am", "model": "flash",
              "tokens": { "input": 100, "output": 10, "cached": 30, "thoughts": 2, "tool": 0, "total": 112 } },
            { "id": "3", "type": "gemini", "timestamp": at(1, 7), "content": "Done", "model": "pro", "tokens": { "input": 5, "output": 1, "cached": 0 } },
        ],
    });
    let others = json!({ "tokens": { "input": 75, "output": 13, "cacheRead": 30 }, "models": ["flash", "pro"], "wallMs": 540_000, "activeMs": 7000 });
    check(&[gemini], &general(0, others));

    let answer = |created: u32, error: Value| {
        json!({
            "parts": [{ "type": "tool", "tool": "task", "callID": "1", "state": { "status": "running", "input": {} } }, { "type": "step-finish", "tokens": { "input": 9 } }],
            "info": { "role": "assistant", "modelID": "m", "providerID": "p", "path": { "cwd": "/a" }, "error": error,
                      "time": { "created": created, "completed": created + 3 },
                      "tokens": { "input": 7, "output": 5, "reasoning": 1, "cache": { "read": 20, "write": 0 } } },
        })
    };
    let opencode = json!({ "info": { "id": "s", "time": { "created": 0 } }, "messages": [
        { "info": { "role": "user", "time": { "created": 1_700_000_000 } }, "parts": [{ "type": "text", "text": "Go" }] },
        answer(1_700_000_002, Value::Null),
        answer(1_700_000_010, json!({ "name": "MessageAbortedError" })),
    ] });
    let others = json!({
        "interruptions": 1, "tokens": { "input": 14, "output": 12, "cacheRead": 40, "cacheWrite": 0 }, "models": ["m"],
        "wallMs": 13_000, "activeMs": 13_000, "cwd": "/a", "subagents": { "launched": 2 },
    });
    check(&[opencode], &general(2, others));

    let usage = json!({ "input": 4, "output": 2, "cacheRead": 1, "cacheWrite": 0 });
    let pi = [
        json!({ "type": "session", "id": "s", "timestamp": at(0, 0), "cwd": "/a" }),
        json!({ "type": "model_change", "timestamp": at(0, 0), "provider": "p", "modelId": "m" }),
        json!({ "type": "message", "timestamp": at(0, 5), "message": { "role": "user", "content": "Go" } }),
        json!({ "type": "message", "timestamp": at(0, 6), "message": { "role": "assistant", "model": "n", "usage": usage, "stopReason": "aborted", "content": [{ "type": "text", "text": "I" }] } }),
    ];
    let others = json!({ "interruptions": 1, "tokens": usage, "models": ["m", "n"], "wallMs": 6000, "activeMs": 1000, "cwd": "/a" });
    check(&pi, &general(0, others));

    let cursor = [
        json!({ "role": "user", "message": { "content": "Go" } }),
        json!({ "role": "assistant", "message": { "content": [{ "type": "tool_use", "name": "Read", "input": {} }] } }),
    ];
    check(&cursor, &general(1, json!({})));
}

#[test]
fn facts_of_evaluations_and_spans_are_where_their_logs_have_them() {
    let messages =
        json!([{ "role": "user", "content": "Go" }, { "role": "assistant", "content": "Done" }]);

    let swe_agent = json!({
        "history": [{ "agent": "a", "role": "user", "content": "Go" }, { "role": "assistant", "content": "Done" }], "trajectory": [],
        "info": { "model_stats": { "tokens_sent": 12, "tokens_received": 3, "api_calls": 2 } },
        "replay_config": "{\"agent\":{\"model\":{\"name\":\"m\"}}}",
    });
    let others = json!({ "tokens": { "input": 12, "output": 3 }, "models": ["m"] });
    check(&[swe_agent], &general(0, others));

    let response = json!({ "model": "m", "usage": { "prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 4 } } });
    let mini = json!({ "trajectory_format": "mini-swe-agent-1.1", "messages": [
        { "role": "user", "content": "Go", "extra": { "timestamp": 1_700_000_000.5 } },
        { "role": "assistant", "content": "Done", "extra": { "timestamp": 1_700_000_002, "response": response } },
    ] });
    let others = json!({ "tokens": { "input": 5, "output": 2, "cacheRead": 4 }, "models": ["m"], "wallMs": 1500, "activeMs": 1500 });
    check(&[mini], &general(0, others));

    let tau = json!({ "info": { "agent_info": { "llm": "m" } }, "simulations": [{ "start_time": at(0, 0), "end_time": at(1, 0), "messages": messages }] });
    check(&[tau], &general(0, json!({ "models": ["m"], "wallMs": 60_000 })));

    let atif = |total: Value| {
        let metrics = json!({ "prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4 });
        json!({ "schema_version": "ATIF-v1.8", "final_metrics": total, "steps": [
            { "source": "agent", "message": "Old", "is_copied_context": true, "model_name": "old", "metrics": metrics, "timestamp": at(0, 9) },
            { "source": "user", "message": "Go", "timestamp": at(1, 0) },
            { "source": "agent", "message": "Done", "timestamp": at(1, 2), "model_name": "m", "metrics": metrics },
        ] })
    };
    let others = |tokens: Value| {
        general(0, json!({ "tokens": tokens, "models": ["m"], "wallMs": 2000, "activeMs": 2000 }))
    };
    check(&[atif(Value::Null)], &others(json!({ "input": 5, "output": 2, "cacheRead": 4 })));
    let total = json!({ "total_prompt_tokens": 30, "total_completion_tokens": 3, "total_cached_tokens": 10 });
    check(&[atif(total)], &others(json!({ "input": 20, "output": 3, "cacheRead": 10 })));

    // By the total, the input of the first model has what the cache had, and that of the second has not.
    let inspect = json!({ "eval": {}, "status": "success", "samples": [{ "messages": messages, "total_time": 18.5, "working_time": 9.25, "model_usage": {
        "m": { "input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "input_tokens_cache_read": 4 },
        "n": { "input_tokens": 9, "output_tokens": 2, "total_tokens": 16, "input_tokens_cache_read": 4, "input_tokens_cache_write": 1 },
    } }] });
    let tokens = json!({ "input": 14, "output": 4, "cacheRead": 8, "cacheWrite": 1 });
    let others =
        json!({ "tokens": tokens, "models": ["m", "n"], "wallMs": 18_500, "activeMs": 9250 });
    check(&[inspect], &general(0, others));

    // What wraps a model call repeats its usage.
    let span = |id: &str, parent: &str, second: u32| {
        json!({
            "traceId": "t", "spanId": id, "parentSpanId": parent, "name": id, "startTime": at(0, second), "endTime": at(0, second + 5),
            "attributes": {
                "gen_ai.input.messages": [messages[0]], "gen_ai.output.messages": [messages[1]],
                "gen_ai.request.model": "m", "gen_ai.response.model": "m-1",
                "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.usage.cache_read.input_tokens": 4,
            },
        })
    };
    let others = json!({ "tokens": { "input": 5, "output": 2, "cacheRead": 4 }, "models": ["m-1"], "wallMs": 6000 });
    check(&[span("outer", "", 0), span("inner", "outer", 1)], &general(0, others));

    let generation = |id: &str, parent: &str, second: u32| {
        json!({
            "id": id, "parentObservationId": parent, "type": "GENERATION", "name": id, "startTime": at(0, second), "endTime": at(0, second + 5),
            "input": [messages[0]], "output": messages[1], "model": "m", "usageDetails": { "input": 5, "output": 2, "total": 11, "input_cache_read": 4 },
        })
    };
    let langfuse = json!({ "trace": { "id": "t" }, "observations": [generation("outer", "", 0), generation("inner", "outer", 1)] });
    let others = json!({ "tokens": { "input": 5, "output": 2, "cacheRead": 4 }, "models": ["m"], "wallMs": 6000 });
    check(&[langfuse], &general(0, others));
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
    check(&log, &facts);
}
