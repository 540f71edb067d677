/** A vector cache as one would write it in five minutes, to run beside the real one. */

import assert from "node:assert/strict";
import fc from "fast-check";

/** What float32 arithmetic may be off by. */
const TOLERANCE = 4e-6;

class NaiveCache {
	constructor({ maxElements, ttlMs }) {
		Object.assign(this, { maxElements, ttlMs, vectors: [] });
	}

	add(vector) {
		if (this.ttlMs === 0) return;
		this.vectors.push(Float32Array.from(vector));
		if (this.vectors.length > this.maxElements) this.vectors.shift();
	}

	maxCosineSimilarity(query) {
		const similarities = this.vectors.map((vector) =>
			cosine(vector, Float32Array.from(query)),
		);
		return similarities.length === 0 ? 0 : Math.max(...similarities);
	}
}

function cosine(a, b) {
	const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
	const [x, y] = [Float64Array.from(a), Float64Array.from(b)];
	const norms = Math.sqrt(dot(x, x)) * Math.sqrt(dot(y, y));
	return norms === 0 ? 0 : dot(x, y) / norms;
}

/** One operation on both caches, which must give the same. */
class Operation {
	constructor(name, run) {
		Object.assign(this, { name, run });
	}

	check() {
		return true;
	}

	toString() {
		return this.name;
	}
}

const add = (vector) =>
	new Operation(`add(${vector})`, (naive, real) => {
		naive.add(vector);
		assert.equal(real.add(vector), undefined);
	});

const compare = (query) =>
	new Operation(`maxCosineSimilarity(${query})`, (naive, real) => {
		const [expected, found] = [
			naive.maxCosineSimilarity(query),
			real.maxCosineSimilarity(query),
		];
		assert.ok(found >= -1 && found <= 1, String(found));
		assert.ok(
			Math.abs(found - expected) <= TOLERANCE,
			`${found} for ${expected}`,
		);
	});

const clear = new Operation("clear()", (naive, real) => {
	naive.vectors = [];
	assert.equal(real.clear(), undefined);
});

const evictExpired = new Operation("evictExpired()", (_naive, real) => {
	assert.equal(real.evictExpired(), undefined);
});

const size = new Operation("size", (naive, real) => {
	assert.equal(real.size, naive.vectors.length);
});

/** The property that `VectorCache` does what the naive one does, whatever is done with it. */
export function lockstep(VectorCache) {
	const options = fc.record({
		maxElements: fc.oneof(
			fc.integer({ min: 1, max: 40 }),
			fc.constantFrom(15, 16, 17, 2 ** 32 - 1),
		),
		dimensions: fc.oneof(
			fc.integer({ min: 1, max: 5 }),
			fc.constantFrom(15, 16, 17, 33),
		),
		ttlMs: fc.constantFrom(
			undefined,
			undefined,
			undefined,
			0,
			1e9,
			Number.POSITIVE_INFINITY,
		),
	});
	const number = fc.oneof(
		fc.integer({ min: -3, max: 3 }),
		fc.float({ noNaN: true, noDefaultInfinity: true }),
		fc.double({ min: -1, max: 1, noNaN: true }),
	);
	const runs = options.chain((chosen) => {
		const vector = fc.oneof(
			fc.array(number, {
				minLength: chosen.dimensions,
				maxLength: chosen.dimensions,
			}),
			fc.constant(Array(chosen.dimensions).fill(0)),
		);
		const operations = [
			vector.map(add),
			vector.map(add),
			fc
				.integer({ min: 1, max: 3 })
				.map((x) => add(Array(chosen.dimensions).fill(x))),
			vector.map(compare),
			fc.constantFrom(clear, evictExpired, size, size, size),
		];
		return fc.tuple(
			fc.constant(chosen),
			fc.commands(operations, { maxCommands: 120, size: "max" }),
		);
	});
	return fc.property(runs, ([chosen, operations]) => {
		const setup = () => ({
			model: new NaiveCache(chosen),
			real: new VectorCache(chosen),
		});
		fc.modelRun(setup, operations);
	});
}
