import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { fromMessages } from "@knowledgepulse/scoring/logs";
import { conversation, importErrorOf } from "../support/imports.mjs";

test("fromMessages gives the same trace for the same messages", async () => {
	const messages = conversation("one");
	const options = { success: true, createdAt: "2026-01-01" };
	const [one, same] = await Promise.all([1, 2].map(() => fromMessages(messages, options)));
	assert.deepEqual(same, one);
	const failed = await fromMessages(messages, { success: false });
	assert.equal(failed.id, one.id);
	const other = await fromMessages(conversation("one", "Not yet."), { success: true });
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
	const rows = [
		["an empty array", []],
		["none", [{ hello: "world" }]],
		["no answer", [{ role: "system", content: "Be brief." }]],
		["no answer", conversation("one").slice(0, 1)],
	];
	for (const [found, messages] of rows) {
		const error = await importErrorOf(fromMessages(messages, { success: true }));
		assert.equal(error.code, "NO_TRACE");
		assert.ok(error.message.includes(`gives a trace, got ${found} (skipped: `), error.message);
		assert.equal(error.source, "messages");
	}
	const skipped = fromMessages(conversation("one"), { assumeSuccess: "skip" });
	const error = await importErrorOf(skipped);
	assert.equal(error.code, "NO_TRACE");
	assert.match(error.message, /success_unknown 1/);
});

test("fromMessages refuses values that are not messages", async () => {
	const promised = Promise.resolve(conversation("one"));
	await assert.rejects(fromMessages(promised), { message: /expected an array, got a promise$/ });
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
	const unread = { type: "call-of-tomorrow", toolName: "f", input: {} };
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
