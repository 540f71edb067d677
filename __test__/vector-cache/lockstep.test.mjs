import assert from "node:assert/strict";
import { test } from "node:test";
import { VectorCache } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { VectorCache as NaiveCache } from "../oracle/vector-cache.mjs";

const SEQUENCES = 400;

/** The greatest error of float32 arithmetic. */
const TOLERANCE = 4e-6;

/** One operation on both caches, with equal results. */
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
		const [expected, found] = [naive.maxCosineSimilarity(query), real.maxCosineSimilarity(query)];
		assert.ok(found >= -1 && found <= 1, String(found));
		assert.ok(Math.abs(found - expected) <= TOLERANCE, `${found} for ${expected}`);
	});

const clear = new Operation("clear()", (naive, real) => {
	naive.clear();
	assert.equal(real.clear(), undefined);
});

const evictExpired = new Operation("evictExpired()", (naive, real) => {
	naive.evictExpired();
	assert.equal(real.evictExpired(), undefined);
});

const size = new Operation("size", (naive, real) => {
	assert.equal(real.size, naive.size);
});

/** The property that `VectorCache` and the naive cache agree after any operations. */
function lockstep() {
	const options = fc.record({
		maxElements: fc.oneof(
			fc.integer({ min: 1, max: 40 }),
			fc.constantFrom(15, 16, 17, 2 ** 32 - 1),
		),
		dimensions: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(15, 16, 17, 33)),
		ttlMs: fc.constantFrom(undefined, undefined, undefined, 0, 1e9, Number.POSITIVE_INFINITY),
	});
	const number = fc.oneof(
		fc.integer({ min: -3, max: 3 }),
		fc.float({ noNaN: true, noDefaultInfinity: true }),
		fc.double({ min: -1, max: 1, noNaN: true }),
	);
	const runs = options.chain((chosen) => {
		const vector = fc.oneof(
			fc.array(number, { minLength: chosen.dimensions, maxLength: chosen.dimensions }),
			fc.constant(Array(chosen.dimensions).fill(0)),
		);
		const operations = [
			vector.map(add),
			vector.map(add),
			fc.integer({ min: 1, max: 3 }).map((x) => add(Array(chosen.dimensions).fill(x))),
			vector.map(compare),
			fc.constantFrom(clear, evictExpired, size, size, size),
		];
		return fc.tuple(
			fc.constant(chosen),
			fc.commands(operations, { maxCommands: 120, size: "max" }),
		);
	});
	return fc.property(runs, ([chosen, operations]) => {
		const setup = () => ({ model: new NaiveCache(chosen), real: new VectorCache(chosen) });
		fc.modelRun(setup, operations);
	});
}

test(`VectorCache agrees with a naive cache over ${SEQUENCES} sequences of operations`, () => {
	fc.assert(lockstep(), { numRuns: SEQUENCES });
});
