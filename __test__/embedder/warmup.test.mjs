import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../fixtures/runs.mjs";
import { assertEndedWell, run, valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { says, trace, words } from "../support/traces.mjs";

const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

for (const [precision, backend, library] of [
	["exact", "onnx", /^1\.\d+\.\d+$/],
	["fast", "native", /^null$/],
]) {
	test(`warmup resolves to the status when the model is ready, ${precision}`, async () => {
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
				env: { KNOWLEDGEPULSE_SCORING_PRECISION: precision },
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
		assert.deepEqual([status.pending, status.cacheSize], [0, 0]);
		assert.deepEqual(after, status);
		assert.equal(novelty.source, "empty-cache", "even for the empty text");
	});
}

test("warmup runs in order among scores, and does not change them", async () => {
	const { settled, scores } = await valueFrom(
		async ({ scoring, input }) => {
			const settled = [];
			const scores = [];
			const warmUp = async (name) => {
				const { cacheSize } = await scoring.warmup();
				settled.push([name, cacheSize]);
			};
			const calls = [warmUp("before")];
			for (const [index, value] of input.entries()) {
				const score = async () => {
					const { score } = await scoring.explainValue(value);
					scores[index] = score;
					settled.push(index);
				};
				calls.push(score());
				if (index % 3 === 0) calls.push(warmUp("between"));
			}
			await Promise.all(calls);
			return { settled, scores };
		},
		{ input: runs },
	);
	const alone = await scoresOf(runs, 1);
	assertSame(scores, alone);
	const names = settled.map((item) => (Array.isArray(item) ? item[0] : item));
	const expected = runs.flatMap((_, index) => (index % 3 === 0 ? [index, "between"] : [index]));
	assert.deepEqual(names, ["before", ...expected]);
	for (const [position, item] of settled.entries()) {
		if (!Array.isArray(item)) continue;
		const earlier = names.slice(0, position).filter(Number.isInteger);
		// Later traces may be in the cache before the promise resolves.
		assert.ok(item[1] >= earlier.length, `${item} at ${position}`);
	}
});

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
	["is switched off", { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" }, /switched off/],
	["has no model", { KNOWLEDGEPULSE_SCORING_MODEL: "nowhere" }, /nowhere/],
];

for (const [name, changes, reason] of rows) {
	test(`warmup reports that the embedder ${name}, with one warning`, async () => {
		const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto", ...changes };
		const options = { input: trace(), env };
		const found = await valueWithoutEmbedder(body, options);
		for (const { embedder, cacheSize, pending } of found.statuses) {
			assert.deepEqual([embedder.state, embedder.modelName], ["unavailable", null]);
			assert.match(embedder.reason, reason);
			assert.deepEqual([cacheSize, pending], [0, 0]);
		}
		assert.equal(found.novelty.source, "no-embedder");
		assert.match(found.novelty.reason, reason);
		assert.equal(found.afterWarmup, 1, "warmup has warned");
		assert.equal(found.warnings.length, 1, "and nothing else has");
		const [code, kind, message] = found.warnings[0];
		assert.deepEqual([code, kind], ["KNOWLEDGEPULSE_NO_EMBEDDER", "KnowledgePulseWarning"]);
		assert.match(message, reason);
	});
}

test("warmup uses the settings at the time of the call", async () => {
	const ended = await run(
		async ({ scoring, input }) => {
			const warnings = [];
			process.emitWarning = (...warning) => warnings.push(warning.at(-1));
			const call = scoring.warmup();
			scoring.configure({ embedder: "off" });
			const { embedder } = await call;
			const before = warnings.length;
			await Promise.all(input.map(scoring.explainValue));
			return [embedder.mode, before, warnings];
		},
		{ input: [1, 2, 3].map((seed) => says(words(5, seed))) },
	);
	assertEndedWell(ended);
	const warnings = ["KNOWLEDGEPULSE_NO_EMBEDDER"];
	assert.deepEqual(ended.value, ["off", 0, warnings]);
});
