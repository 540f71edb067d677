import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { configure, evaluateValue, status } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { library, modelFolder } from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

test("configure changes the backend, and status reports it", (t) => {
	t.after(() => configure({ backend: "native", precision: "exact" }));
	const { embedder } = status();
	const onnx = { ...embedder, backend: "onnx", library };
	configure({ backend: "onnx" });
	assert.deepEqual(status().embedder, onnx);
	configure({ backend: undefined });
	assert.deepEqual(status().embedder, onnx);
	configure({ precision: "fast" });
	assert.deepEqual(status().embedder, { ...embedder, precision: "fast" }, "fast is native");
	configure({ precision: "exact" });
	assert.deepEqual(status().embedder, onnx);
});

test("configure keeps what a getter of its options has configured", (t) => {
	t.after(() => configure({ model: modelFolder }));
	const nested = {
		get embedder() {
			configure({ model: "inner" });
			return "auto";
		},
	};
	configure(nested);
	assert.equal(status().embedder.model, resolve("inner"));
});

test("configure ignores what the prototype of its options has", (t) => {
	Object.prototype.zzz = 1;
	t.after(() => delete Object.prototype.zzz);
	assert.equal(configure({}), undefined);
});

test("configure changes only the given options", async (t) => {
	const before = status().embedder;
	t.after(() => configure({ embedder: "auto", model: modelFolder, library, backend: "native" }));
	assert.equal(configure({}), undefined);
	assert.throws(() => configure(), { path: "options", message: /got undefined/ });
	assert.deepEqual(status().embedder, before);
	configure({ embedder: undefined, model: undefined, library: undefined });
	assert.deepEqual(status().embedder, before);
	const model = resolve("elsewhere");
	configure({ model: "elsewhere" });
	assert.deepEqual(status().embedder, { ...before, model });
	configure({ library: "another" });
	assert.deepEqual(status().embedder, { ...before, model }, "no library is used");
	configure({ backend: "onnx" });
	const changed = { ...before, model, backend: "onnx", library: resolve("another") };
	assert.deepEqual(status().embedder, changed);
	configure({ embedder: "required" });
	assert.deepEqual(status().embedder, { ...changed, mode: "required" });
	await assert.rejects(evaluateValue(trace()), {
		code: "EMBEDDER_UNAVAILABLE",
		message: /elsewhere/,
	});
});

test("configure keeps the loaded model for the same settings", async () => {
	await evaluateValue(trace());
	assert.equal(status().embedder.state, "ready");
	configure({ embedder: "auto", model: modelFolder, library });
	assert.equal(status().embedder.state, "ready");
});

/** An option, its values one after another, the state of the model before each score, and the least similarity. */
const reloads = [
	["precision", ["exact", "exact", "fast", "fast"], ["idle", "ready", "idle", "ready"], 0.99],
	["backend", ["native", "onnx", "onnx", "native"], ["idle", "idle", "ready", "idle"], 1 - 1e-6],
];

for (const [name, values, states, least] of reloads)
	test(`configure loads the model again for another ${name} only, and keeps the cache`, async () => {
		const body = async ({ scoring, input: { name, values, trace } }) => {
			const told = [];
			for (const value of values) {
				scoring.configure({ [name]: value });
				const before = scoring.status().embedder.state;
				const { novelty } = await scoring.explainValue(trace);
				told.push({ ...scoring.status(), before, novelty });
			}
			return told;
		};
		const told = await valueFrom(body, { input: { name, values, trace: trace() } });
		for (const [index, { before, novelty, embedder, cacheSize }] of told.entries()) {
			assert.deepEqual(
				[before, embedder.state, embedder[name], cacheSize],
				[states[index], "ready", values[index], index + 1],
			);
			assert.equal(novelty.source, index === 0 ? "empty-cache" : "cache");
			if (index > 0) assert.ok(novelty.maxSimilarity > least, String(novelty.maxSimilarity));
			assert.equal(embedder.libraryVersion === null, embedder.backend === "native");
		}
	});

test("configure does not change the settings of earlier calls", async () => {
	const sources = await valueFrom(
		async ({ scoring, input }) => {
			const some = () => Array.from({ length: 5 }, () => scoring.explainValue(input));
			const calls = some();
			scoring.configure({ embedder: "off" });
			calls.push(...some());
			scoring.configure({ embedder: "auto" });
			calls.push(...some());
			return (await Promise.all(calls)).map(({ novelty }) => novelty.source);
		},
		{ input: trace(), env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" } },
	);
	const five = (source) => Array(5).fill(source);
	assert.deepEqual(sources, [
		"empty-cache",
		...five("cache").slice(1),
		...five("no-embedder"),
		...five("cache"),
	]);
});

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
		backend: "native",
		precision: "exact",
		state: "idle",
		reason: null,
		model: modelFolder,
		modelName: null,
		dimensions: null,
		maxTokens: null,
		library: null,
		libraryVersion: null,
		loadMs: null,
	};
	assert.deepEqual(idle, {
		embedder,
		threads: idle.threads,
		budgetMs: null,
		novelty: "text",
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
});
