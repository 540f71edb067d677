/** The options of the processor. */
const { inspect } = require("node:util");
const { ScoringError } = require("@knowledgepulse/scoring");

/** The options of `importTraces` that apply to all spans alike. */
const IMPORT = [
	...["assumeSuccess", "confidence", "createdAt", "domain", "objective"],
	...["privacyLevel", "success", "visibility"],
];

const isFunction = (value) => typeof value === "function";
const hasMethod = (name) => (value) => isFunction(value?.[name]);
const isCount = (value) => Number.isSafeInteger(value) && value >= 1;

/** What each of the other options has to be. */
const OWN = {
	scorer: [hasMethod("explainValue"), "a Scorer"],
	onScore: [isFunction, "a function"],
	onError: [isFunction, "a function"],
	label: [isFunction, "a function"],
	loggerProvider: [hasMethod("getLogger"), "a LoggerProvider"],
	maxTraces: [isCount, "an integer of 1 or more"],
	maxSpans: [isCount, "an integer of 1 or more"],
	waitMs: [
		(value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31,
		"an integer from 0 to 2147483647",
	],
};

function invalid(path, expected, value) {
	const found = inspect(value, { depth: 0 });
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, {
		...{ code: "INVALID_OPTION", path },
	});
}

/** Returns the processor's own options, and those that are passed on to `importTraces`. */
function splitOptions(options) {
	if (options === null || typeof options !== "object")
		throw invalid("options", "an object", options);
	const own = {};
	const importing = { format: "otel", errors: "collect" };
	for (const [name, value] of Object.entries(options)) {
		if (value === undefined) continue;
		if (IMPORT.includes(name)) importing[name] = value;
		else if (!Object.hasOwn(OWN, name))
			throw invalid(...["options", `only ${[...Object.keys(OWN), ...IMPORT].join(", ")}`], name);
		else {
			const [fits, expected] = OWN[name];
			if (!fits(value)) throw invalid(name, expected, value);
			own[name] = value;
		}
	}
	return { own, importing };
}

module.exports = { splitOptions };
