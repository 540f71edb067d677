/** The class VectorCache, which types/vector-cache.d.ts documents. */
const { errorsOf } = require("./errors.js");

/** Makes the class over the native one, and requires `new`. */
module.exports = function vectorCacheClass(native) {
	const { attempt, toError } = errorsOf(native);

	return class VectorCache extends native.VectorCache {
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
};
