import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { VectorCache } from "@knowledgepulse/scoring";
import { assertRefused } from "../support/refusals.mjs";

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

const integer = "expected a positive integer, got";

const time = "expected a number of milliseconds, 0 or more, got";

const refused = [
	...["maxElements", "dimensions"].flatMap((name) =>
		[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32].map((value) => [
			{ [name]: value },
			name,
			`${integer} ${value}`,
		]),
	),
	[{ maxElements: "5" }, "maxElements", `${integer} "5"`],
	[{ maxElements: null }, "maxElements", `${integer} null`],
	[{ dimensions: 384n }, "dimensions", `${integer} 384n`],
	[{ ttlMs: -1 }, "ttlMs", `${time} -1`],
	[{ ttlMs: Number.NaN }, "ttlMs", `${time} NaN`],
	[{ ttlMs: "1" }, "ttlMs", `${time} "1"`],
	[{ ttlMs: null }, "ttlMs", `${time} null`],
	[{ maxElement: 5 }, "maxElement", "did you mean maxElements?"],
	[{ ttl: 5 }, "ttl", "did you mean ttlMs?"],
	[{ dimension: 5 }, "dimension", "did you mean dimensions?"],
	[{ somethingElse: 1 }, "somethingElse", "an unknown option"],
	[null, "options", "expected an object, got null"],
	[5, "options", "expected an object, got 5"],
	["small", "options", 'expected an object, got "small"'],
];

for (const [options, path, rest] of refused)
	test(`VectorCache refuses ${path}: ${rest}`, () =>
		assertRefused(() => new VectorCache(options), path, rest));

test("VectorCache accepts its options", () => {
	const accepted = [
		undefined,
		{},
		{ maxElements: undefined, dimensions: undefined, ttlMs: undefined },
		{ maxElements: 1 },
		{ maxElements: 2 ** 32 - 1 },
		{ dimensions: 2 ** 32 - 1 },
		{ ttlMs: 0 },
		{ ttlMs: 0.5 },
		{ ttlMs: Number.MAX_VALUE },
		{ ttlMs: Number.POSITIVE_INFINITY },
		Object.freeze({ maxElements: 5 }),
	];
	for (const options of accepted) assert.equal(new VectorCache(options).size, 0);
	assert.equal(new VectorCache().size, 0);
});

test("VectorCache holds 1,000 vectors of 384 numbers that never expire by default", () => {
	const cache = new VectorCache();
	const unit = (i) => new Float32Array(384).fill(1, i, i + 1);
	for (let i = 0; i < 384; i++) cache.add(unit(i));
	for (let i = 384; i < 1000; i++) cache.add(unit(383));
	assert.deepEqual([cache.size, cache.maxCosineSimilarity(unit(0))], [1000, 1]);
	cache.add(unit(383));
	assert.deepEqual(
		[cache.size, cache.maxCosineSimilarity(unit(0)), cache.maxCosineSimilarity(unit(1))],
		[1000, 0, 1],
	);
	for (const method of ["add", "maxCosineSimilarity"]) {
		const expected = { code: "INVALID_VECTOR", message: "Expected 384 dimensions, got 3" };
		assert.throws(() => cache[method](new Float32Array(3)), expected);
		assert.throws(() => cache[method]([1, 2, 3]), expected);
	}
});

test("VectorCache expires vectors by the clock", async () => {
	const caches = [30_000, 30].map((ttlMs) => new VectorCache({ dimensions: 1, ttlMs }));
	for (const cache of caches) cache.add([1]);
	await sleep(40);
	for (const cache of caches) assert.equal(cache.evictExpired(), undefined);
	assert.deepEqual(
		caches.map((cache) => [cache.size, cache.maxCosineSimilarity([1])]),
		[
			[1, 1],
			[0, 0],
		],
	);
});
