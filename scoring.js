/** The public surface, which index.d.ts documents; both entry points share one. */
const load = require("./load.js");

function open() {
	const native = load();

	// Without this, threads of the engine could still be in ONNX Runtime while its static data is
	// being destroyed. An environment cleanup hook alone does not run when the main thread exits.
	process.once("exit", native.close);

	/** A class of JavaScript's own refuses to be called without `new`, which a native one does not. */
	class VectorCache extends native.VectorCache {}

	let localCache;
	function _getLocalCache() {
		localCache ??= Object.setPrototypeOf(
			native.localCache(),
			VectorCache.prototype,
		);
		return localCache;
	}

	const { configure, evaluateValue, explainValue, status, warmup } = native;
	return {
		VectorCache,
		_getLocalCache,
		configure,
		evaluateValue,
		explainValue,
		status,
		warmup,
	};
}

let opened;

/** The surface; an Error with `code: "ADDON_NOT_FOUND"` where there is no addon. */
module.exports = function scoring() {
	opened ??= open();
	return opened;
};
