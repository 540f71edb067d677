import assert from "node:assert/strict";
import { test } from "node:test";
import { VectorCache } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";

test("VectorCache can be extended, and needs new", () => {
	class Cache extends VectorCache {
		get twice() {
			return 2 * this.size;
		}
	}
	const cache = new Cache({ dimensions: 1 });
	cache.add([1]);
	assert.deepEqual([cache.twice, cache instanceof VectorCache], [2, true]);
	assert.throws(() => VectorCache(), TypeError);
	for (const other of [{}, Object.create(VectorCache.prototype), new Map()]) {
		assert.throws(() => VectorCache.prototype.add.call(other, [1]));
		assert.throws(() => Reflect.get(VectorCache.prototype, "size", other));
	}
});

test("VectorCache tells the garbage collector how much memory it holds", async () => {
	const body = async ({ scoring }) => {
		const vector = new Float32Array(384).fill(1);
		let peak = 0;
		// 922 MB of vectors, one cache after another.
		for (let made = 0; made < 600; made++) {
			const cache = new scoring.VectorCache();
			for (let i = 0; i < 1000; i++) cache.add(vector);
			await new Promise(setImmediate);
			peak = Math.max(peak, process.memoryUsage().rss);
		}
		return peak;
	};
	const peak = await valueFrom(body);
	assert.ok(peak < 450e6, `${peak} bytes at the most`);
});
