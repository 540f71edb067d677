/** The public surface, which index.d.ts documents; both entry points share one. */
const load = require("./load.js");
const scorerClass = require("./scorer.js");

function open() {
	const native = load();

	// Without this, threads of the engine could still be in ONNX Runtime while its static data is
	// being destroyed. An environment cleanup hook alone does not run when the main thread exits.
	// Test runners load modules many times over; the addon stays, and one listener is enough.
	if (!process.listeners("exit").includes(native.close))
		process.once("exit", native.close);

	/** A class of JavaScript's own refuses to be called without `new`, which a native one does not. */
	class VectorCache extends native.VectorCache {}

	const Scorer = scorerClass(native, VectorCache);
	const scorer = new Scorer(native.defaultScorer());
	return {
		Scorer,
		VectorCache,
		_getLocalCache: () => scorer.cache,
		clear: () => scorer.clear(),
		configure: native.configure,
		evaluateValue: (trace, options) => scorer.evaluateValue(trace, options),
		evaluateValues: (traces, options) => scorer.evaluateValues(traces, options),
		explainValue: (trace, options) => scorer.explainValue(trace, options),
		forget: (id) => scorer.forget(id),
		peekValue: (trace, options) => scorer.peekValue(trace, options),
		remember: (trace, options) => scorer.remember(trace, options),
		status: () => scorer.status(),
		warmup: () => scorer.warmup(),
	};
}

let opened;

/** The surface; an Error with `code: "ADDON_NOT_FOUND"` where there is no addon. */
module.exports = function scoring() {
	opened ??= open();
	return opened;
};
