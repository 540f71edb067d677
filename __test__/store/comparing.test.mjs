import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer, scoreWith, VectorCache } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { named } from "../support/logs.mjs";
import { trace } from "../support/traces.mjs";

/** A log that compares by itself, with a cache that the scorers of a test share. */
function comparing(cache = new VectorCache(), ids = []) {
	const refuse = () => Promise.reject(new Error("not mirrored"));
	return {
		append: refuse,
		read: refuse,
		close: async () => {},
		compare: async (entries) =>
			entries.map(({ kind, id = null, embedding }) => {
				const vector = embedding && new Float32Array(embedding.slice().buffer);
				const hasOthers = cache.size > 0;
				const maxSimilarity = vector && hasOthers ? cache.maxCosineSimilarity(vector) : null;
				const nearest = ids[0] ?? null;
				if (kind === "add") {
					cache.add(vector);
					ids.push(id);
				}
				const removed = kind === "forget" ? 3 : undefined;
				return { seq: BigInt(cache.size), maxSimilarity, nearest, removed };
			}),
	};
}

const texts = ["A red boat", "A blue boat", "Taxes"].map((text) => named(text));

test("a log that compares by itself answers all calls of a scorer", async () => {
	const store = comparing();
	const [one, other] = [1, 2].map(() => new Scorer({ store }));
	const alone = new Scorer();
	for (const [index, text] of texts.entries()) {
		const scorer = index % 2 ? one : other;
		const { score, novelty } = await scorer.explainValue(text);
		assert.equal(score, await alone.evaluateValue(text));
		assert.deepEqual([novelty.source, novelty.seq], ["store", index + 1]);
	}
	assert.equal(
		await one.evaluateValue(texts[0], { remember: false }),
		await alone.evaluateValue(texts[0], { remember: false }),
	);
	assert.equal((await other.explainValue(texts[0])).novelty.nearest, "A red boat");
	await one.remember(texts[1]);
	assert.equal(await one.forget("A red boat"), 3);
	assert.equal(await one.clear(), undefined);
	assert.equal((await one.warmup()).store.state, "ready");
});

test("what such a log returns ends in a typed error or in the score that follows from it", async () => {
	const anything = fc.anything({ withBigInt: true, withTypedArray: true });
	const found = fc.oneof(
		anything,
		fc.array(anything, { minLength: 1, maxLength: 1 }),
		fc.tuple(
			fc.record({
				seq: fc.oneof(anything, fc.bigInt()),
				maxSimilarity: fc.oneof(anything, fc.double({ min: -2, max: 2 })),
				nearest: anything,
				removed: anything,
			}),
		),
	);
	await fc.assert(
		fc.asyncProperty(found, async (found) => {
			const store = { ...comparing(), compare: async () => found };
			const scorer = new Scorer({ store, storeMode: "required" });
			try {
				const { score } = await scorer.explainValue(trace());
				const maxSimilarity =
					found[0].maxSimilarity === null
						? null
						: Math.min(1, Math.max(-1, found[0].maxSimilarity));
				assert.equal(score, scoreWith(trace(), { maxSimilarity }).score);
			} catch (error) {
				assert.equal(error.code, "INVALID_STORE", error.stack);
			}
			scorer.close();
		}),
		{ numRuns: 200 },
	);
});
