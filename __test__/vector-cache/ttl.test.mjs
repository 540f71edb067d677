import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { VectorCache } from "@knowledgepulse/scoring";

test("VectorCache expires vectors at once with ttlMs: 0", () => {
	const cache = new VectorCache({ dimensions: 1, ttlMs: 0 });
	cache.add([1]);
	assert.deepEqual([cache.size, cache.maxCosineSimilarity([1])], [0, 0]);
});

test("VectorCache expires vectors by the clock", async () => {
	const ttlMs = 60;
	const cache = new VectorCache({ dimensions: 4, ttlMs });
	// The process can be paused at any time, so each vector was added between two readings of the clock.
	const added = [];
	const seen = { alive: 0, expired: 0 };
	const unit = (i) => Array.from({ length: 4 }, (_, at) => Number(at === i));
	const observe = (measure, expectation) => {
		const before = performance.now();
		const found = measure();
		const after = performance.now();
		// The two clocks may differ by a millisecond of rounding.
		const alive = added.filter(({ earliest }) => after - earliest < ttlMs - 1).length;
		const perhaps = added.filter(({ latest }) => before - latest < ttlMs + 1).length;
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
				assert.ok(size >= alive && size <= perhaps, `size ${size}, not ${alive} to ${perhaps}`);
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

test("VectorCache does not renew a vector that is compared", async () => {
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
