/** The public API by entry point, as the declarations in types/ document it. */
const load = require("./binding.js");
const { ImportError, InvalidTraceError, ScoringError, errorsOf } = require("./errors.js");
const calibrationOf = require("./calibrate.js");
const logsOf = require("./logs.js");
const scorerClass = require("./scorer.js");
const { traceReader } = require("./trace.js");
const vectorCacheClass = require("./vector-cache.js");

function open() {
	const native = load();
	const { attempt } = errorsOf(native);
	const readTrace = traceReader(native);
	const { evaluateLogs, fromMessages, importTraces } = logsOf(native);

	// Without this, threads of the engine could still be in ONNX Runtime while its static data is
	// being destroyed. An environment cleanup hook alone does not run when the main thread exits.
	// Test runners load modules many times over; the addon stays, and one listener is enough.
	if (!process.listeners("exit").includes(native.close)) process.once("exit", native.close);

	const VectorCache = vectorCacheClass(native);
	const Scorer = scorerClass(native, VectorCache, evaluateLogs);
	const scorer = new Scorer(undefined, native.defaultScorer());
	const root = {
		InvalidTraceError,
		Scorer,
		ScoringError,
		VectorCache,
		_getLocalCache: () => scorer.cache,
		clear: () => scorer.clear(),
		decide: (trace, options) => scorer.decide(trace, options),
		embed: (traceOrText, options) => scorer.embed(traceOrText, options),
		configure: (options) => attempt(() => native.configure(options)),
		evaluateValue: (trace, options) => scorer.evaluateValue(trace, options),
		evaluateValues: (traces, options) => scorer.evaluateValues(traces, options),
		explainValue: (trace, options) => scorer.explainValue(trace, options),
		explainValues: (traces, options) => scorer.explainValues(traces, options),
		forget: (id) => scorer.forget(id),
		remember: (trace, options) => scorer.remember(trace, options),
		scoreWith: (trace, novelty, options) => {
			const score = () => {
				const { head, confidence } = readTrace(trace);
				return native.scoreWith(head, confidence, novelty, options);
			};
			return JSON.parse(attempt(score));
		},
		similar: (traceOrText, options) => scorer.similar(traceOrText, options),
		status: () => scorer.status(),
		warmup: (options) => scorer.warmup(options),
	};
	const logs = {
		ImportError,
		LOG_FORMATS: Object.freeze(native.logFormats()),
		evaluateLogs: (sources, options) => scorer.evaluateLogs(sources, options),
		fromMessages,
		importTraces,
	};
	return { root, logs, calibration: calibrationOf(native) };
}

let opened;

/** Returns the API. Throws a ScoringError with `code: "ADDON_NOT_FOUND"` where there is no addon. */
module.exports = function api() {
	opened ??= open();
	return opened;
};
