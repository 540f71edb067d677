/** The options of the processor. */
const { check, checkOptions } = require("@knowledgepulse/scoring/internal/options");

/** The options of `importTraces` that apply to all spans alike. */
const IMPORT = `assumeSuccess confidence createdAt domain objective privacyLevel success
	visibility`.split(/\s+/);

const isFunction = (value) => typeof value === "function";
const hasMethod = (name) => (value) => isFunction(value?.[name]);
const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isDelay = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31;

/** The other options, each with its check and what it expects. */
const PROCESSOR = {
	scorer: [hasMethod("explainValue"), "a Scorer"],
	onScore: [isFunction, "a function"],
	onError: [isFunction, "a function"],
	label: [isFunction, "a function"],
	loggerProvider: [hasMethod("getLogger"), "a LoggerProvider"],
	maxTraces: [isCount, "an integer of 1 or more"],
	maxSpans: [isCount, "an integer of 1 or more"],
	waitMs: [isDelay, "an integer from 0 to 2147483647"],
};

const KNOWN = [...Object.keys(PROCESSOR), ...IMPORT];

/** Checks options, and returns those of the processor and those that are passed on to `importTraces`. */
function splitOptions(options) {
	checkOptions(options, KNOWN);
	const processor = {};
	const importing = { format: "otel", errors: "collect" };
	for (const [name, value] of Object.entries(options)) {
		if (value === undefined) continue;
		const [fits, expected] = PROCESSOR[name] ?? [];
		if (fits) check(fits(value), name, expected, value);
		(fits ? processor : importing)[name] = value;
	}
	return { processor, importing };
}

module.exports = { splitOptions };
