import assert from "node:assert/strict";
import { test } from "node:test";
import { valueFrom } from "../support/child.mjs";
import { library, modelFolder } from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

test("status reports embedder, cache and calls, before, during and after a call", async () => {
	const states = await valueFrom(
		async ({ scoring, input }) => {
			const states = [scoring.status()];
			const call = scoring.evaluateValue(input);
			states.push(scoring.status());
			await call;
			return [...states, scoring.status()];
		},
		{ input: trace() },
	);
	const [idle, busy, ready] = states;
	const embedder = {
		mode: "auto",
		backend: "onnx",
		precision: "exact",
		state: "idle",
		reason: null,
		model: modelFolder,
		modelName: null,
		dimensions: null,
		maxTokens: null,
		library,
		libraryVersion: null,
	};
	assert.deepEqual(idle, {
		embedder,
		threads: idle.threads,
		budgetMs: null,
		longText: "window",
		threshold: 0.75,
		pending: 0,
		cacheSize: 0,
		store: null,
		calls: { answered: 0, failed: 0, aborted: 0, overBudget: 0 },
		latencyMs: null,
	});
	assert.ok(Number.isInteger(idle.threads) && idle.threads >= 1, String(idle.threads));
	assert.deepEqual([busy.pending, busy.cacheSize], [1, 0]);
	assert.deepEqual([ready.pending, ready.cacheSize, ready.embedder.state], [0, 1, "ready"]);
	assert.equal(ready.calls.answered, 1);
	const { p50, p90, p99 } = ready.latencyMs;
	assert.ok(p50 > 0 && p50 === p90 && p90 === p99);
	assert.equal(ready.embedder.modelName, "sentence-transformers/all-MiniLM-L6-v2");
	assert.match(ready.embedder.libraryVersion, /^1\.\d+\.\d+$/);
});
