import assert from "node:assert/strict";
import { test } from "node:test";
import {
	_getLocalCache,
	evaluateValue,
	explainValue,
	remember,
	status,
	warmup,
} from "@knowledgepulse/scoring";
import { assertSame, oneByOne } from "../support/scores.mjs";
import { random, says, trace, words } from "../support/traces.mjs";

/** Traces with texts of very different lengths, some of them equal. */
function mixed(seed) {
	const lengths = [900, 1, 0, 400, 2, 30, 900, 1, 1, 120, 3, 0, 250, 8, 900, 2];
	const next = random(seed);
	return lengths.map((length, i) => {
		const domain = ["code", "finance", "general"][i % 3];
		const content = words(length, Math.floor(next() * 8));
		const steps = [
			{ type: "observation", content },
			{ type: "tool_call", tool: { name: "a" } },
			{ type: "tool_call", tool: { name: "b" } },
		];
		return trace({ objective: `Read ${i % 5}`, domain, steps, confidence: i / 16 });
	});
}

test("evaluateValue scores as if rejected calls and warmup() had not been made", async () => {
	const traces = mixed(4);
	const expected = await oneByOne(traces);
	_getLocalCache().clear();
	const others = [];
	const calls = traces.map((value, i) => {
		const bad = [5, { ...value, steps: [...value.steps, {}] }, { ...value, outcome: {} }][i % 3];
		others.push(assert.rejects(evaluateValue(bad), { code: "INVALID_TRACE" }), warmup());
		return evaluateValue(value);
	});
	assertSame(await Promise.all(calls), expected);
	await Promise.all(others);
	assert.equal(_getLocalCache().size, traces.length);
});

test("evaluateValue rejects an invalid trace without waiting for earlier calls", async () => {
	const settled = [];
	const good = evaluateValue(says(words(2000, 1))).then(() => settled.push("good"));
	const bad = evaluateValue({}).catch(() => settled.push("bad"));
	await Promise.all([good, bad]);
	assert.deepEqual(settled, ["bad", "good"]);
});

test("evaluateValue leaves the event loop free", async () => {
	let turns = 0;
	let done = false;
	const calls = Promise.all(mixed(6).map((value) => evaluateValue(value))).then(() => {
		done = true;
	});
	while (!done) {
		await new Promise(setImmediate);
		turns += 1;
	}
	await calls;
	assert.ok(turns > 100, `${turns} turns`);
});

test("calls of every kind settle in the order in which they were made", async () => {
	const kinds = [remember, () => warmup(), explainValue, evaluateValue];
	const settled = [];
	// The first one is slow because it is new; the others have to wait for it.
	const traces = [says(words(900, 55)), ...mixed(5), ...mixed(7)];
	const calls = traces.map(async (value, index) => {
		await kinds[index % kinds.length](value);
		settled.push(index);
	});
	assert.equal(status().pending, calls.length);
	// Blocks the event loop, so that many answers are ready when it continues.
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
	await Promise.all(calls);
	assert.deepEqual(settled, [...calls.keys()]);
	assert.equal(status().pending, 0);
});
