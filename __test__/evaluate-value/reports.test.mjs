import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, explainValue, Scorer } from "@knowledgepulse/scoring";
import { says, trace } from "../support/traces.mjs";

/** The name of the built-in model. */
const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

test("explainValue reports what the model saw of the text", async () => {
	const scorer = new Scorer();
	for (const [count, tokens, isCut, fromMemo] of [
		[510, 512, false, false],
		[511, 512, false, false],
		[512, 512, true, true],
		[0, 2, false, false],
	]) {
		const { text } = await scorer.explainValue(says(Array(count).fill("a").join(" ")));
		const facts = { tokens, isCut, fromMemo, unknownTokens: 0 };
		assert.deepEqual(text, { novelty: "text", modelName: MODEL, ...facts }, `${count} words`);
	}
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

test("explainValue reports the novelty of a single thought, which scores 0.1 for any", async () => {
	_getLocalCache().clear();
	const thought = trace({ steps: [{ type: "thought", content: "It rains" }] });
	const first = await explainValue(thought);
	assert.deepEqual(
		[first.score, first.novelty.source, first.dimensions.novelty],
		[0.1, "empty-cache", 0.5],
	);
	const second = await explainValue(thought);
	assert.equal(second.score, 0.1);
	assert.ok(second.dimensions.novelty < 1e-6, String(second.dimensions.novelty));
	assert.deepEqual(
		second.overrides.map(({ name, after }) => [name, after]),
		[["single-thought", 0.1]],
	);
});
