/** The class VectorCache, which types/vector-cache.d.ts documents. */
const { attempt, native, toError } = require("./native.js");

/** Requires `new`, unlike the native class. */
module.exports = class VectorCache extends native.VectorCache {
	constructor(options) {
		try {
			super(options);
		} catch (thrown) {
			throw toError(thrown);
		}
	}

	add(vector) {
		attempt(() => super.add(vector));
	}

	maxCosineSimilarity(query) {
		return attempt(() => super.maxCosineSimilarity(query));
	}
};
