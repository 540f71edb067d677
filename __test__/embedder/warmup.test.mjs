import assert from "node:assert/strict";
import { test } from "node:test";
import { valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { trace } from "../support/traces.mjs";

const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

for (const [backend, precision, library] of [
	["native", "exact", /^null$/],
	["onnx", "exact", /^1\.\d+\.\d+$/],
	["native", "fast", /^null$/],
]) {
	test(`warmup resolves to the status when the model is ready, ${backend}, ${precision}`, async () => {
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const before = scoring.status().embedder.state;
				const call = scoring.warmup();
				const pending = scoring.status().pending;
				const isPromise = call instanceof Promise;
				const status = await call;
				const after = scoring.status();
				const { novelty } = await scoring.explainValue(input);
				return { before, pending, isPromise, status, after, novelty };
			},
			{
				input: trace({ objective: "", steps: [] }),
				env: {
					KNOWLEDGEPULSE_SCORING_BACKEND: backend,
					KNOWLEDGEPULSE_SCORING_PRECISION: precision,
				},
			},
		);
		const { before, pending, isPromise, status, after, novelty } = found;
		assert.deepEqual([before, pending, isPromise], ["idle", 1, true]);
		const { embedder } = status;
		assert.deepEqual(
			[embedder.state, embedder.reason, embedder.modelName, embedder.precision],
			["ready", null, MODEL, precision],
		);
		assert.equal(embedder.backend, backend);
		assert.match(String(embedder.libraryVersion), library);
		assert.ok(embedder.loadMs > 0);
		assert.deepEqual([status.pending, status.cacheSize], [0, 0]);
		assert.deepEqual([status.calls.answered, status.latencyMs], [0, null], "no score yet");
		assert.deepEqual(after, status);
		assert.equal(novelty.source, "empty-cache", "even for the empty text");
	});
}

/** Warms up twice and scores once: the statuses, and the codes of all warnings. */
const body = async ({ scoring, input }) => {
	const warnings = [];
	process.on("warning", ({ code, name, message }) => warnings.push([code, name, message]));
	const statuses = [await scoring.warmup(), await scoring.warmup()];
	await new Promise(setImmediate);
	const afterWarmup = warnings.length;
	const { novelty } = await scoring.explainValue(input);
	statuses.push(scoring.status());
	await new Promise(setImmediate);
	return { statuses, warnings, afterWarmup, novelty };
};

const rows = [
	[
		"is switched off, without a warning",
		{ KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" },
		/switched off/,
		0,
	],
	["has no model, with one warning", { KNOWLEDGEPULSE_SCORING_MODEL: "nowhere" }, /nowhere/, 1],
];

for (const [name, changes, reason, count] of rows) {
	test(`warmup reports that the embedder ${name}`, async () => {
		const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto", ...changes };
		const options = { input: trace(), env };
		const found = await (count > 0 ? valueWithoutEmbedder : valueFrom)(body, options);
		for (const { embedder, cacheSize, pending } of found.statuses) {
			assert.deepEqual([embedder.state, embedder.modelName], ["unavailable", null]);
			assert.match(embedder.reason, reason);
			assert.deepEqual([cacheSize, pending], [0, 0]);
		}
		assert.equal(found.novelty.source, "no-embedder");
		assert.match(found.novelty.reason, reason);
		assert.equal(found.afterWarmup, count, "warmup has warned");
		assert.equal(found.warnings.length, count, "and nothing else has");
		for (const [code, kind, message] of found.warnings) {
			assert.deepEqual([code, kind], ["KNOWLEDGEPULSE_NO_EMBEDDER", "KnowledgePulseWarning"]);
			assert.match(message, reason);
		}
	});
}
