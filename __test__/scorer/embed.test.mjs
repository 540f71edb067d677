import assert from "node:assert/strict";
import { test } from "node:test";
import { embed, explainValue, Scorer, scoreWith, VectorCache } from "@knowledgepulse/scoring";
import { runs } from "../data/runs.mjs";
import { says, trace, words } from "../support/traces.mjs";

const length = (vector) => Math.hypot(...vector);

test("embed returns 384 numbers of length 1 for a text and for a trace", async () => {
	const vector = await embed("A red boat");
	assert.ok(vector instanceof Float32Array);
	assert.equal(vector.length, 384);
	assert.ok(Math.abs(length(vector) - 1) < 1e-6);
	assert.deepEqual(await embed(says("A red boat")), vector);
	for (const text of ["A red boat", words(3000, 4)])
		assert.deepEqual(await embed(trace({ objective: text, steps: [] })), await embed(text));
	assert.ok(Math.abs(length(await embed("")) - 1) < 1e-6);
});

test("embed and Scorer.snapshot give memory that can be transferred to another thread", async () => {
	const scorer = new Scorer({ novelty: "words" });
	await scorer.remember(says("A red boat"));
	for (const bytes of [await scorer.embed("A red boat"), await scorer.snapshot()]) {
		const { length } = bytes;
		const moved = structuredClone(bytes, { transfer: [bytes.buffer] });
		assert.deepEqual([moved.length, bytes.length], [length, 0]);
	}
});

for (const [novelty, dimensions] of [
	["text", 384],
	["run", 768],
	["words", 384],
])
	test(`embed gives the vectors that scores are made of, novelty ${novelty}`, async () => {
		const scorer = new Scorer({ novelty });
		const cache = new VectorCache({ dimensions });
		for (const run of runs.slice(0, 8)) {
			const report = await scorer.explainValue(run);
			const vector = await scorer.embed(run);
			const { maxSimilarity } = report.novelty;
			if (cache.size > 0) assert.equal(cache.maxCosineSimilarity(vector), maxSimilarity);
			cache.add(vector);
			assert.equal(report.text.novelty, novelty);
		}
		assert.deepEqual(
			[scorer.status().novelty, scorer.status().embedder.dimensions],
			[novelty, dimensions],
		);
	});

test("embed uses the memo and the window like a score", async () => {
	const scorer = new Scorer();
	const text = words(2000, 7);
	const vector = await scorer.embed(text);
	assert.equal((await scorer.explainValue(says(text))).text.fromMemo, true);
	assert.deepEqual(await scorer.embed(words(700, 7)), vector);
});

test("embed leaves the cache unchanged and counts as a call", async () => {
	const scorer = new Scorer();
	await scorer.embed("x");
	const { cacheSize, calls } = scorer.status();
	assert.deepEqual([cacheSize, calls.answered], [0, 1]);
});

test("embed rejects other values than traces and texts", async () => {
	for (const input of [undefined, null, 42, [], {}])
		await assert.rejects(embed(input), { code: "INVALID_TRACE" });
});

test("scoreWith gives the report of a scorer with the same similarity", async () => {
	const scorer = new Scorer();
	for (const run of runs.slice(0, 20)) {
		const { text, timesMs, novelty, ...expected } = await scorer.explainValue(run);
		const found = scoreWith(run, novelty);
		assert.deepEqual(found, {
			...expected,
			novelty: { ...novelty, source: "given" },
			text: null,
			timesMs: { total: 0, queue: 0, tokenize: 0, infer: 0, turn: 0, cache: 0 },
		});
		assert.deepEqual(scoreWith(run, novelty), found);
	}
	assert.equal((await explainValue(trace())).novelty.source, "empty-cache");
});

test("scoreWith uses the profiles that it is given", () => {
	const weights = { complexity: 0, novelty: 1, toolDiversity: 0, outcomeConfidence: 0 };
	const profiles = { default: weights };
	const report = scoreWith(trace(), { maxSimilarity: 0.25 }, { profiles });
	assert.deepEqual([report.score, report.weights], [0.75, weights]);
});

test("scoreWith throws for a wrong trace, similarity or option", () => {
	const found = { maxSimilarity: 0 };
	for (const [parameters, code, path] of [
		[[{}, found], "INVALID_TRACE", "metadata"],
		[[trace()], "INVALID_OPTION", "novelty"],
		[[trace(), 0.5], "INVALID_OPTION", "novelty"],
		[[trace(), {}], "INVALID_OPTION", "novelty.maxSimilarity"],
		[[trace(), { maxSimilarity: 1.01 }], "INVALID_OPTION", "novelty.maxSimilarity"],
		[[trace(), { maxSimilarity: NaN }], "INVALID_OPTION", "novelty.maxSimilarity"],
		[[trace(), { maxSimilarity: 0, nearest: 5 }], "INVALID_OPTION", "novelty.nearest"],
		[[trace(), { maxSimilarity: 0, similarity: 1 }], "INVALID_OPTION", "novelty.similarity"],
		[[trace(), found, { profile: {} }], "INVALID_OPTION", "profile"],
		[
			[trace(), found, { profiles: { default: {} } }],
			"INVALID_OPTION",
			"profiles.default.complexity",
		],
	])
		assert.throws(() => scoreWith(...parameters), {
			name: code === "INVALID_TRACE" ? "InvalidTraceError" : "ScoringError",
			code,
			path,
		});
});
