import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, evaluateValue, explainValue, Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { assertAddsUp } from "../support/reports.mjs";
import { says, trace } from "../support/traces.mjs";

test("explainValue adds up to the score, and names the nearest trace", async () => {
	const scorer = new Scorer();
	const seen = new Set();
	for (const one of traces) {
		const report = await scorer.explainValue(one);
		assertAddsUp(report);
		const { novelty, text } = report;
		if (novelty.source === "cache") assert.ok(seen.has(novelty.nearest), novelty.nearest);
		assert.ok(text.tokens >= 2 && text.tokens <= 512 && !text.isCut);
		seen.add(one.id);
	}
});

/** The name of the built-in model. */
const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

test("explainValue reports what the model saw of the text", async () => {
	const scorer = new Scorer();
	const seen = async (count) =>
		(await scorer.explainValue(says(Array(count).fill("a").join(" ")))).text;
	assert.deepEqual(await seen(510), {
		modelName: MODEL,
		tokens: 512,
		windows: 1,
		isCut: false,
		fromMemo: false,
		unknownTokens: 0,
	});
	assert.deepEqual(await seen(511), {
		modelName: MODEL,
		tokens: 512,
		windows: 1,
		isCut: false,
		fromMemo: false,
		unknownTokens: 0,
	});
	assert.deepEqual(await seen(512), {
		modelName: MODEL,
		tokens: 512,
		windows: 1,
		isCut: true,
		fromMemo: true,
		unknownTokens: 0,
	});
	assert.deepEqual(await seen(0), {
		modelName: MODEL,
		tokens: 2,
		windows: 1,
		isCut: false,
		fromMemo: true,
		unknownTokens: 0,
	});
});

test("explainValue reports an empty cache after clear()", async () => {
	await evaluateValue(trace());
	_getLocalCache().clear();
	const { dimensions, novelty } = await explainValue(trace());
	assert.deepEqual(novelty, {
		source: "empty-cache",
		maxSimilarity: null,
		nearest: null,
		seq: null,
		reason: null,
	});
	assert.equal(dimensions.novelty, 0.5);
});

test("explainValue compares with vectors that were added to the cache", async () => {
	const cache = _getLocalCache();
	const vector = Float32Array.from({ length: 384 }, (_, i) => Math.sin(i));
	const similarities = [];
	for (const sign of [1, -1]) {
		cache.clear();
		cache.add(vector.map((x) => sign * x));
		const { dimensions, novelty } = await explainValue(trace());
		assert.equal(novelty.source, "cache");
		assert.equal(dimensions.novelty, Math.min(1, 1 - novelty.maxSimilarity), "never above 1");
		similarities.push(novelty.maxSimilarity);
	}
	assert.ok(Math.abs(similarities[0] + similarities[1]) < 1e-6, String(similarities));
	assert.ok(Math.abs(similarities[0]) > 1e-6, String(similarities));
});
