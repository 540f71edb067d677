/** Checks options. */
const { URL, fileURLToPath } = require("node:url");
const load = require("./binding.js");
const { ScoringError } = require("./errors.js");

/** Returns an error with `code: "INVALID_OPTION"`. */
function invalidOption(path, expected, found) {
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, {
		code: "INVALID_OPTION",
		path,
	});
}

/** Throws an error with `code: "INVALID_OPTION"` unless a value fits. */
function check(fits, path, expected, value) {
	if (!fits) throw invalidOption(path, expected, load().describe(value));
}

const isObject = (value) => typeof value === "object" && value !== null;

/** Recognised by shape, because a signal may come from another realm. */
function isSignal(value) {
	return (
		isObject(value) &&
		typeof value.aborted === "boolean" &&
		typeof value.addEventListener === "function" &&
		typeof value.removeEventListener === "function"
	);
}

/** Checks that options are an object, by default with any names, and the type of its signal. */
function checkOptions(options, known = undefined) {
	check(isObject(options), "options", "an object", options);
	for (const name of known ? Object.keys(options) : []) {
		if (known.includes(name)) continue;
		const meant = load().suggest(name, known);
		throw invalidOption(
			name,
			`one of the options ${known.join(", ")}`,
			`an unknown option${meant ? `; did you mean ${meant}?` : ""}`,
		);
	}
	const { signal } = options;
	check(signal === undefined || isSignal(signal), "signal", "an AbortSignal", signal);
}

function checkBoolean(name, value) {
	check(value === undefined || typeof value === "boolean", name, "true or false", value);
}

/** The path of a file that is given as a string or a URL. */
function fileOf(value, name) {
	if (typeof value === "string") return value;
	check(value instanceof URL, name, "a string or a URL", value);
	check(value.protocol === "file:", name, "a file: URL", value.href);
	return fileURLToPath(value);
}

/** Whether errors are collected, by the option `errors`. */
function collects(errors = "reject") {
	check(errors === "reject" || errors === "collect", "errors", '"reject" or "collect"', errors);
	return errors === "collect";
}

/** The options of a call without options. */
const NONE = { signal: undefined, remember: undefined };

/**
 * Returns the options of a call, whose signal is not aborted. Ignores any other value, such as the index in
 * `traces.map(evaluateValue)`.
 */
function callOptions(options, known) {
	if (!isObject(options)) return NONE;
	checkOptions(options, known);
	if (options.signal?.aborted) throw options.signal.reason;
	return options;
}

module.exports = {
	callOptions,
	check,
	checkBoolean,
	checkOptions,
	collects,
	fileOf,
	invalidOption,
	isObject,
};
