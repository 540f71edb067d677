/** The public API by entry point, as types/ documents it. What not every process needs is loaded when it is used. */
const { ImportError, InvalidTraceError, ScoringError } = require("./errors.js");

/** The functions that are methods of the scorer of the process. */
const METHODS =
	`clear decide embed evaluateValue evaluateValues explainValue explainValues forget remember
	similar status warmup`.split(/\s+/);

function open() {
	const { attempt, native } = require("./native.js");
	const { SETTINGS, either, kinds, readOptions, required, settingsInVariables } =
		require("./options.js");
	const Scorer = require("./scorer.js");
	const { readTrace } = require("./trace.js");
	// With the rest: Jest can drop loaded modules, and its classes of errors would be others.
	const VectorCache = require("./vector-cache.js");

	// Otherwise threads could still be in ONNX Runtime while its static data is destroyed:
	// `process.exit()` of the main thread runs no environment cleanup hooks. One listener is enough,
	// although test runners and hot reloads load this module many times.
	const isOurs = Symbol.for(`close at exit: ${__filename}`);
	if (!process.listeners("exit").some((listener) => listener[isOurs]))
		process.once(
			"exit",
			Object.assign(() => native.close(), { [isOurs]: true }),
		);

	const { any, similarity, text } = kinds;
	/** A novelty; that of a report is accepted too. */
	const NOVELTY = {
		maxSimilarity: required(either("a number in [-1, 1] or null", similarity, null)),
		nearest: either("a string", text, null),
		source: any,
		seq: any,
		reason: any,
	};

	const scorer = new Scorer(
		{ __proto__: null },
		native.defaultScorer((what) =>
			what === "runtime" ? require("./runtime.js")() : settingsInVariables(),
		),
	);
	const root = {
		InvalidTraceError,
		Scorer,
		ScoringError,
		VectorCache,
		_getLocalCache: () => scorer.cache,
		configure: (options) => native.configure(readOptions(options, SETTINGS)),
		scoreWith: (trace, novelty, options = {}) => {
			const { head } = readTrace(trace);
			const { profiles } = readOptions(options, { profiles: kinds.profiles });
			const { maxSimilarity, nearest } = readOptions(novelty, NOVELTY, "novelty");
			const score = () => native.scoreWith(head, maxSimilarity, nearest, profiles);
			return JSON.parse(attempt(score));
		},
		...Object.fromEntries(METHODS.map((name) => [name, scorer[name].bind(scorer)])),
	};
	const evaluateLogs = scorer.evaluateLogs.bind(scorer);
	return {
		root,
		get logs() {
			const { LOG_FORMATS, fromMessages, importTraces, toMessages } = require("./logs.js");
			return { ImportError, LOG_FORMATS, evaluateLogs, fromMessages, importTraces, toMessages };
		},
		get calibration() {
			return require("./calibrate.js");
		},
	};
}

let opened;

/** Returns the API. Throws a ScoringError with `code: "ADDON_NOT_FOUND"` without an addon. */
module.exports = function api() {
	opened ??= open();
	return opened;
};
