import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { VectorCache } from "@knowledgepulse/scoring";

/** The numbers 3, 4 and 0 in a buffer. */
function within(buffer) {
	const vector = new Float32Array(buffer);
	vector.set([3, 4, 0]);
	return vector;
}

const accepted = {
	Float32Array: new Float32Array([3, 4, 0]),
	Float64Array: new Float64Array([3, 4, 0]),
	Int8Array: new Int8Array([3, 4, 0]),
	Uint8Array: new Uint8Array([3, 4, 0]),
	Uint8ClampedArray: new Uint8ClampedArray([3, 4, 0]),
	Int16Array: new Int16Array([3, 4, 0]),
	Uint16Array: new Uint16Array([3, 4, 0]),
	Int32Array: new Int32Array([3, 4, 0]),
	Uint32Array: new Uint32Array([3, 4, 0]),
	Buffer: Buffer.from([3, 4, 0]),
	"a part of a Float32Array": new Float32Array([9, 3, 4, 0, 9]).subarray(1, 4),
	"a subclass of Float32Array": new (class extends Float32Array {})([3, 4, 0]),
	"a Float32Array in shared memory": within(new SharedArrayBuffer(12)),
	"a Float32Array on a resizable buffer": within(new ArrayBuffer(12, { maxByteLength: 24 })),
	"a Float32Array of another realm": vm.runInNewContext("new Float32Array([3, 4, 0])"),
	Array: [3, 4, 0],
	"a frozen Array": Object.freeze([3, 4, 0]),
	"a proxied Array": new Proxy([3, 4, 0], {}),
	"an array-like": { length: 3, 0: 3, 1: 4, 2: 0 },
};

for (const [name, vector] of Object.entries(accepted)) {
	test(`VectorCache.add and maxCosineSimilarity accept ${name}`, () => {
		const cache = new VectorCache({ dimensions: 3 });
		cache.add(vector);
		const rows = [
			[vector, 1],
			[[6, 8, 0], 1],
			[[4, -3, 0], 0],
			[[-3, -4, 0], -1],
			[[0, 0, 5], 0],
			[[1, 0, 0], 0.6],
			[[0, 0, 0], 0],
		];
		for (const [query, expected] of rows) {
			const found = cache.maxCosineSimilarity(query);
			assert.ok(
				Math.abs(found - expected) < 1e-6,
				`${name} and ${query}: ${found} for ${expected}`,
			);
		}
	});
}

const dimensions = (found) => `Expected 3 dimensions, got ${found}`;

const array = (found) => `vector: expected an array of numbers, got ${found}`;

const refused = [
	["a short Float32Array", new Float32Array(2), dimensions(2)],
	["a long Array", [1, 2, 3, 4], dimensions(4)],
	["an empty Array", [], dimensions(0)],
	["a huge array-like", { length: 2 ** 31 }, dimensions(2 ** 31)],
	["a detached Float32Array", detached(), dimensions(0)],
	["nothing", undefined, array("undefined")],
	["null", null, array("null")],
	["a number", 3, array("3")],
	["a string", "abc", array('"abc"')],
	["a function of three arguments", (a, b, c) => [a, b, c], array("a function")],
	["an object without a length", {}, array("an object")],
	["an object with an odd length", { length: "3" }, array("an object")],
	["an object with half an element", { length: 3.5 }, array("an object")],
	["an iterable", new Set([1, 2, 3]), array("an object")],
	["a buffer", new ArrayBuffer(12), array("an object")],
	// biome-ignore lint/suspicious/noSparseArray: a hole.
	["a hole", [1, , 3], "vector[1]: expected a number, got undefined"],
	["a numeric string", [1, 2, "3"], 'vector[2]: expected a number, got "3"'],
	["null inside", [null, 2, 3], "vector[0]: expected a number, got null"],
	["bigints", new BigInt64Array(3), "vector[0]: expected a number, got 0n"],
	["NaN", [0, Number.NaN, 0], /^vector\[1\]: expected a finite float32, got NaN$/],
	[
		"Infinity",
		new Float32Array([0, 0, Number.POSITIVE_INFINITY]),
		/^vector\[2\]: expected a finite float32, got /,
	],
	[
		"what is infinite as float32",
		new Float64Array([3.5e38, 0, 0]),
		/^vector\[0\]: expected a finite float32, got /,
	],
];

for (const [name, vector, message] of refused) {
	test(`VectorCache.add and maxCosineSimilarity refuse ${name}`, () => {
		const cache = new VectorCache({ dimensions: 3 });
		cache.add([1, 2, 3]);
		for (const method of ["add", "maxCosineSimilarity"]) {
			assert.throws(
				() => cache[method](vector),
				{ name: "ScoringError", code: "INVALID_VECTOR", message },
				method,
			);
		}
		assert.deepEqual(
			[cache.size, cache.maxCosineSimilarity([1, 2, 3])],
			[1, 1],
			"the cache is as it was",
		);
	});
}

test("VectorCache.add copies the vector", () => {
	const cache = new VectorCache({ dimensions: 2 });
	const vector = new Float32Array([1, 0]);
	cache.add(vector);
	vector.set([0, 1]);
	assert.equal(cache.maxCosineSimilarity([1, 0]), 1);
});

test("VectorCache.add lets a getter of the vector use the cache", () => {
	const cache = new VectorCache({ dimensions: 2 });
	const vector = {
		length: 2,
		get 0() {
			cache.add([0, 1]);
			return 1;
		},
		1: 0,
	};
	cache.add(vector);
	assert.equal(cache.size, 2);
});

function detached() {
	const vector = new Float32Array(3);
	structuredClone(vector.buffer, { transfer: [vector.buffer] });
	return vector;
}
