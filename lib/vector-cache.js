/** The class VectorCache, which types/vector-cache.d.ts documents. */
const { isFloat32Array } = require("node:util/types");
const { attempt, native } = require("./native.js");
const { check, isNumber, isObject, kinds, readOptions } = require("./options.js");

const { positive, time } = kinds;
const OPTIONS = { maxElements: positive, dimensions: positive, ttlMs: time };

/** Returns an array-like as floats. Compares its length first, because it may be huge. */
function floatsOf(array, cache) {
	if (isFloat32Array(array)) return array;
	const length = isObject(array) ? array.length : undefined;
	check(Number.isInteger(length), "vector", "an array of numbers", array, "INVALID_VECTOR");
	cache.checkLength(length);
	const floats = new Float32Array(length);
	for (const index of floats.keys()) {
		const value = array[index];
		check(isNumber(value), `vector[${index}]`, "a number", value, "INVALID_VECTOR");
		floats[index] = value;
	}
	return floats;
}

/** Requires `new`, unlike the native class. */
module.exports = class VectorCache extends native.VectorCache {
	constructor(options = {}) {
		super(readOptions(options, OPTIONS));
	}

	add(vector) {
		attempt(() => super.add(floatsOf(vector, this)));
	}

	maxCosineSimilarity(query) {
		return attempt(() => super.maxCosineSimilarity(floatsOf(query, this)));
	}
};
