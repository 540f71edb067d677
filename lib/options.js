/** What the options of calls have in common. */
const load = require("./binding.js");
const { ScoringError } = require("./errors.js");

/** Returns an error with `code: "INVALID_OPTION"`. */
function invalidOption(path, expected, found) {
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, {
		...{ code: "INVALID_OPTION", path },
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

/** Checks that an object has no options but the known ones, and a signal that is one. */
function checkOptions(options, known) {
	for (const name of Object.keys(options)) {
		if (known.includes(name)) continue;
		const meant = load().suggest(name, known);
		throw invalidOption(
			name,
			`one of the options ${known.join(", ")}`,
			`an unknown option${meant ? `; did you mean ${meant}?` : ""}`,
		);
	}
	const { signal } = options;
	if (signal !== undefined && !isSignal(signal))
		throw invalidOption("signal", "an AbortSignal", String(signal));
}

/**
 * Returns the signal in the options of a call, if there is one. What is not an object is ignored: as
 * in `traces.map(evaluateValue)`, where it is an index.
 */
function signalOf(options) {
	if (options === null || typeof options !== "object") return undefined;
	checkOptions(options, ["signal"]);
	return options.signal;
}

module.exports = { checkOptions, invalidOption, signalOf };
