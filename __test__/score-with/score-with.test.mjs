import assert from "node:assert/strict";
import { test } from "node:test";
import { explainValue, Scorer, scoreWith } from "@knowledgepulse/scoring";
import { runs } from "../fixtures/runs.mjs";
import { trace } from "../support/traces.mjs";

test("scoreWith gives the report of a scorer that has found the same similarity", async () => {
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

test("scoreWith clamps the novelty to [0, 1], and takes 0.5 without a similarity", () => {
	for (const [maxSimilarity, novelty] of [
		[1, 0],
		[0.25, 0.75],
		[0, 1],
		[-1, 1],
		[null, 0.5],
	])
		assert.equal(scoreWith(trace(), { maxSimilarity }).dimensions.novelty, novelty);
	const { novelty } = scoreWith(trace(), { maxSimilarity: 0, nearest: "x" });
	assert.equal(novelty.nearest, "x");
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
