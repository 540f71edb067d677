import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { evaluateValue } from "@knowledgepulse/scoring";
import { fromMessages } from "@knowledgepulse/scoring/logs";
import { conversation, importErrorOf } from "../support/imports.mjs";

const input = { path: "a.txt" };

const said = (role, ...content) => ({ role, content });

/** A call of a tool, and its result, in the AI SDK. */
const call = (toolCallId, toolName, input) => ({ type: "tool-call", toolCallId, toolName, input });
const result = (toolCallId, toolName, output) => ({
	type: "tool-result",
	toolCallId,
	toolName,
	output,
});

/** A message with a call of a tool of OpenAI. */
const calling = (id, name, input) => ({
	role: "assistant",
	content: null,
	tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }],
});

/** The same run in the messages of different libraries. */
const dialects = {
	"the AI SDK": [
		{ role: "system", content: "Be brief." },
		said("user", { type: "text", text: "Read a.txt" }),
		said("assistant", { type: "reasoning", text: "It is a file." }, call("1", "read", input)),
		said("tool", result("1", "read", { type: "error-text", value: "no such file" })),
		said("assistant", call("2", "list", {})),
		said("tool", result("2", "list", { type: "text", value: "b.txt" })),
		{ role: "assistant", content: "There is only b.txt." },
	],
	OpenAI: [
		{ role: "developer", content: "Be brief." },
		{ role: "user", content: "Read a.txt" },
		{ ...calling("1", "read", input), reasoning_content: "It is a file." },
		{ role: "tool", tool_call_id: "1", content: '{"error":"no such file"}' },
		calling("2", "list", {}),
		{ role: "tool", tool_call_id: "2", content: "b.txt" },
		{ role: "assistant", content: "There is only b.txt." },
	],
	Anthropic: [
		{ role: "user", content: "Read a.txt" },
		said(
			"assistant",
			{ type: "thinking", thinking: "It is a file.", signature: "s" },
			{ type: "tool_use", id: "1", name: "read", input },
		),
		said("user", {
			type: "tool_result",
			tool_use_id: "1",
			is_error: true,
			content: "no such file",
		}),
		said("assistant", { type: "tool_use", id: "2", name: "list", input: {} }),
		said("user", { type: "tool_result", tool_use_id: "2", content: "b.txt" }),
		said("assistant", { type: "text", text: "There is only b.txt." }),
	],
};

for (const [name, messages] of Object.entries(dialects)) {
	test(`fromMessages reads messages of ${name}`, async () => {
		const trace = await fromMessages(messages, { success: true });
		assert.equal(trace.task.objective, "Read a.txt");
		const failure = name === "OpenAI" ? '{"error":"no such file"}' : "no such file";
		assert.deepEqual(
			trace.steps.map(({ step_id, ...step }) => step),
			[
				{ type: "thought", content: "It is a file." },
				{ type: "tool_call", tool: { name: "read" }, input },
				{ type: "observation", content: failure },
				{ type: "error_recovery", tool: { name: "list" }, input: {} },
				{ type: "observation", content: "b.txt" },
				{ type: "thought", content: "There is only b.txt." },
			],
		);
		assert.equal(trace.metadata.success, true);
		assert.equal(trace.outcome.result_summary, "There is only b.txt.");
		const score = await evaluateValue(trace);
		assert.ok(score > 0 && score <= 1);
	});
}

test("fromMessages gives the same trace for the same messages", async () => {
	const { OpenAI } = dialects;
	const options = { success: true, createdAt: "2026-01-01" };
	const [one, same] = await Promise.all([1, 2].map(() => fromMessages(OpenAI, options)));
	assert.deepEqual(same, one);
	const failed = await fromMessages(OpenAI, { success: false });
	assert.equal(failed.id, one.id);
	const other = await fromMessages(OpenAI.slice(0, -1), { success: true });
	assert.notEqual(other.id, one.id);
});

test("fromMessages dates a conversation without a time to the present", async () => {
	const before = new Date().toISOString();
	const { trace, provenance } = await fromMessages(conversation("one"), {
		success: true,
		provenance: true,
	});
	const { created_at } = trace.metadata;
	assert.ok(before <= created_at && created_at <= new Date().toISOString(), created_at);
	assert.equal(provenance.createdAtFrom, "none");

	const dated = conversation("one").map((message) => ({ ...message, createdAt: "2026-01-02" }));
	const { metadata } = await fromMessages(dated, { success: true });
	assert.equal(metadata.created_at, "2026-01-02T00:00:00.000Z");
});

test("fromMessages reads the messages before it returns", async () => {
	const messages = conversation("one");
	const pending = fromMessages(messages, { success: true });
	messages[0].content = "two";
	messages.length = 1;
	const trace = await pending;
	assert.deepEqual([trace.task.objective, trace.steps.length], ["one", 1]);
});

test("fromMessages rejects with NO_TRACE for messages that give none", async () => {
	const none = {
		nothing: [],
		"no messages": [{ hello: "world" }],
		"only a system message": [{ role: "system", content: "Be brief." }],
		"no answer": conversation("one").slice(0, 1),
	};
	for (const [name, messages] of Object.entries(none)) {
		const error = await importErrorOf(fromMessages(messages, { success: true }));
		assert.equal(error.code, "NO_TRACE", name);
		assert.equal(error.source, "messages");
	}
	const skipped = fromMessages(conversation("one"), { assumeSuccess: "skip" });
	const error = await importErrorOf(skipped);
	assert.equal(error.code, "NO_TRACE");
	assert.match(error.message, /success_unknown 1/);
});

test("fromMessages refuses values that are not messages", async () => {
	for (const messages of [undefined, null, 5, "[]", {}, new Set()])
		await assert.rejects(fromMessages(messages), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			path: "messages",
		});
	const odd = [{ role: "user", content: 10n }];
	const error = await importErrorOf(fromMessages(odd, { success: true }));
	assert.deepEqual([error.code, error.source], ["INVALID_OPTION", "messages"]);
});

test("fromMessages returns what it skipped with the trace", async () => {
	const messages = [{ role: "system", content: "Be brief." }, ...conversation("one")];
	const options = { success: true, createdAt: "2026-01-01" };
	const { trace, provenance } = await fromMessages(messages, { ...options, provenance: true });
	assert.deepEqual(trace, await fromMessages(messages, { ...options, provenance: false }));
	assert.deepEqual(provenance.skipped, { system: 1 });
	await assert.rejects(fromMessages(messages, { provenance: "yes" }), {
		code: "INVALID_OPTION",
		path: "provenance",
	});
});

test("fromMessages rejects if a call cannot be read, unless errors are collected", async () => {
	const unread = { type: "call-of-tomorrow", toolName: "f" };
	const known = { type: "tool-call", toolCallId: "1", toolName: "f", input: {} };
	for (const content of [[unread], [unread, known]]) {
		const messages = [...conversation("one"), { role: "assistant", content }];
		const error = await importErrorOf(fromMessages(messages, { success: true }));
		assert.deepEqual([error.code, error.source], ["UNKNOWN_RECORDS", "messages"]);
		assert.match(error.message, /parts of the types call-of-tomorrow/);
		const { trace, provenance } = await fromMessages(messages, {
			success: true,
			errors: "collect",
			provenance: true,
		});
		assert.equal(trace.steps.length, content.length);
		assert.deepEqual(provenance.skipped, { "part:call-of-tomorrow": 1 });
	}
	// Parts of calls that are read are not skipped.
	const asked = { type: "tool-approval-request", approvalId: "a", toolCallId: "1" };
	const messages = [...conversation("one"), { role: "assistant", content: [known, asked] }];
	assert.equal((await fromMessages(messages, { success: true })).steps.length, 2);
});

test("fromMessages rejects with the reason of its signal", async () => {
	const controller = new AbortController();
	const { signal } = controller;
	const options = { success: true, signal };
	const pending = fromMessages(conversation("one"), options);
	controller.abort("enough");
	const later = fromMessages(conversation("one"), options);
	for (const call of [pending, later]) assert.equal(await call.catch((reason) => reason), "enough");
	assert.equal(getEventListeners(signal, "abort").length, 0);
});
