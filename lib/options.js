/** Checks options. */
const load = require("./binding.js");
const { ScoringError } = require("./errors.js");

/** Returns an error with `code: "INVALID_OPTION"`. */
function invalidOption(path, expected, found) {
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, {
		code: "INVALID_OPTION",
		path,
	});
}

/** Recognised by shape, because a signal may come from another realm. */
function isSignal(value) {
	return (
		typeof value === "object" &&
		typeof value?.aborted === "boolean" &&
		typeof value.addEventListener === "function" &&
		typeof value.removeEventListener === "function"
	);
}

function checkObject(options) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", String(options));
}

/** Checks that options are an object with known names only, and the type of its signal. */
function checkOptions(options, known) {
	checkObject(options);
	for (const name of Object.keys(options)) {
		if (known.includes(name)) continue;
		const meant = load().suggest(name, known);
		throw invalidOption(
			name,
			`one of the options ${known.join(", ")}`,
			`an unknown option${meant ? `; did you mean ${meant}?` : ""}`,
		);
	}
	checkSignal(options.signal);
}

function checkSignal(signal) {
	if (signal !== undefined && !isSignal(signal))
		throw invalidOption("signal", "an AbortSignal", String(signal));
}

function checkBoolean(name, value) {
	if (value !== undefined && typeof value !== "boolean")
		throw invalidOption(name, "true or false", String(value));
}

/** Whether errors are collected, by the option `errors`. */
function collects(errors = "reject") {
	if (errors === "reject" || errors === "collect") return errors === "collect";
	throw invalidOption("errors", '"reject" or "collect"', String(errors));
}

/** The options of a call without options. */
const NONE = { signal: undefined, remember: undefined };

/** Returns the options of a call. Ignores any other value, such as the index in `traces.map(evaluateValue)`. */
function callOptions(options, known) {
	if (options === null || typeof options !== "object") return NONE;
	checkOptions(options, known);
	return options;
}

module.exports = {
	callOptions,
	checkBoolean,
	checkObject,
	checkOptions,
	checkSignal,
	collects,
	invalidOption,
};
