import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
	_getLocalCache,
	evaluateValue,
	explainValue,
	status,
	VectorCache,
	warmup,
} from "../index.mjs";
import { trace } from "./lib/traces.mjs";

describe("the cache behind evaluateValue", () => {
	test("is one VectorCache", () => {
		const cache = _getLocalCache();
		assert.equal(_getLocalCache(), cache);
		assert.equal(
			createRequire(import.meta.url)("../index.js")._getLocalCache(),
			cache,
		);
		assert.ok(cache instanceof VectorCache);
		assert.throws(() => cache.add([1]), {
			message: "Expected 384 dimensions, got 1",
		});
	});

	test("grows with every score, by up to 1,000", async () => {
		const cache = _getLocalCache();
		cache.clear();
		for (let size = 1; size <= 3; size++) {
			await evaluateValue(trace());
			assert.deepEqual([cache.size, status().cacheSize], [size, size]);
		}
		await evaluateValue(
			trace({ steps: [{ type: "thought", content: "A thought enters, too" }] }),
		);
		// Its score is there before it is; what is called next has its turn after it.
		await warmup();
		assert.equal(cache.size, 4);
		for (let i = 0; i < 1000; i++) cache.add(new Float32Array(384));
		await evaluateValue(trace());
		assert.equal(cache.size, 1000);
	});

	test("when cleared makes the next novelty 0.5", async () => {
		await evaluateValue(trace());
		_getLocalCache().clear();
		const { dimensions, novelty } = await explainValue(trace());
		assert.deepEqual(novelty, {
			source: "empty-cache",
			maxSimilarity: null,
			nearest: null,
			reason: null,
		});
		assert.equal(dimensions.novelty, 0.5);
	});

	test("forgets the oldest first", async () => {
		const cache = _getLocalCache();
		const compared = async (others) => {
			cache.clear();
			await evaluateValue(trace());
			for (let i = 0; i < others; i++) cache.add(new Float32Array(384));
			return (await explainValue(trace())).novelty.maxSimilarity;
		};
		const kept = await compared(999);
		assert.ok(kept > 0.999999, String(kept));
		assert.equal(await compared(1000), 0);
	});

	test("takes vectors from outside", async () => {
		const cache = _getLocalCache();
		const vector = Float32Array.from({ length: 384 }, (_, i) => Math.sin(i));
		const similarities = [];
		for (const sign of [1, -1]) {
			cache.clear();
			cache.add(vector.map((x) => sign * x));
			const { dimensions, novelty } = await explainValue(trace());
			assert.equal(novelty.source, "cache");
			assert.equal(
				dimensions.novelty,
				Math.min(1, 1 - novelty.maxSimilarity),
				"never above 1",
			);
			similarities.push(novelty.maxSimilarity);
		}
		assert.ok(
			Math.abs(similarities[0] + similarities[1]) < 1e-6,
			String(similarities),
		);
		assert.ok(Math.abs(similarities[0]) > 1e-6, String(similarities));
	});
});

describe("time to live", () => {
	test("0 is over at once", () => {
		const cache = new VectorCache({ dimensions: 1, ttlMs: 0 });
		cache.add([1]);
		assert.deepEqual([cache.size, cache.maxCosineSimilarity([1])], [0, 0]);
	});

	test("ends by the clock, for every purpose", async () => {
		const ttlMs = 60;
		const cache = new VectorCache({ dimensions: 4, ttlMs });
		// A machine may stand still at any time: an addition lies between two readings of the clock.
		const added = [];
		const seen = { alive: 0, expired: 0 };
		const unit = (i) => Array.from({ length: 4 }, (_, at) => Number(at === i));
		const observe = (measure, expectation) => {
			const before = performance.now();
			const found = measure();
			const after = performance.now();
			// A millisecond for the two clocks, which need not round alike.
			const alive = added.filter(
				({ earliest }) => after - earliest < ttlMs - 1,
			).length;
			const perhaps = added.filter(
				({ latest }) => before - latest < ttlMs + 1,
			).length;
			expectation(found, alive, perhaps);
			return { alive, perhaps };
		};
		for (let i = 0; i < 4; i++) {
			const earliest = performance.now();
			cache.add(unit(i));
			added.push({ earliest, latest: performance.now() });
			await sleep(20);
		}
		for (let perhaps = 4; perhaps > 0; await sleep(5)) {
			({ perhaps } = observe(
				() => cache.size,
				(size, alive, perhaps) => {
					assert.ok(
						size >= alive && size <= perhaps,
						`size ${size}, not ${alive} to ${perhaps}`,
					);
				},
			));
			for (const [index, { earliest, latest }] of added.entries()) {
				const before = performance.now();
				const similarity = cache.maxCosineSimilarity(unit(index));
				const after = performance.now();
				if (after - earliest < ttlMs - 1) {
					assert.equal(similarity, 1, `vector ${index} is alive`);
					seen.alive += 1;
				} else if (before - latest > ttlMs + 1) {
					assert.equal(similarity, 0, `vector ${index} has expired`);
					seen.expired += 1;
				}
			}
			cache.evictExpired();
		}
		assert.equal(cache.size, 0);
		assert.ok(seen.expired > 0, JSON.stringify(seen));
	});

	test("is not renewed by being compared, and an expired vector makes no room twice", async () => {
		const cache = new VectorCache({ dimensions: 1, ttlMs: 30, maxElements: 2 });
		cache.add([1]);
		cache.add([1]);
		const start = performance.now();
		while (performance.now() - start <= 31) {
			cache.maxCosineSimilarity([1]);
			await sleep(2);
		}
		assert.equal(cache.maxCosineSimilarity([1]), 0);
		for (let i = 0; i < 3; i++) {
			cache.add([-1]);
			assert.ok(cache.size <= 2);
		}
	});
});
