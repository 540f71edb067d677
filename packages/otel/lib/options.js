/** The options of the processor. */
const {
	checkVersion,
	kind,
	kinds,
	readOptions,
} = require("@knowledgepulse/scoring/internal/options");

checkVersion(require("../package.json"));

const { action, any } = kinds;

/** The options of `importTraces` that apply to all spans alike. It checks them. */
const IMPORT = `assumeSuccess confidence createdAt domain objective privacyLevel success
	visibility`.split(/\s+/);

const withMethod = (expected, name) =>
	kind(expected, (value) => typeof value?.[name] === "function");
const count = kind("an integer of 1 or more", (value) => Number.isSafeInteger(value) && value >= 1);

const OPTIONS = {
	scorer: withMethod("a Scorer", "explainValue"),
	onScore: action,
	onError: action,
	label: action,
	loggerProvider: withMethod("a LoggerProvider", "getLogger"),
	maxTraces: count,
	maxSpans: count,
	maxBytes: count,
	waitMs: kind(
		"an integer from 0 to 2147483647",
		(value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31,
	),
	...Object.fromEntries(IMPORT.map((name) => [name, any])),
};

exports.readOptions = (options) => readOptions(options, OPTIONS);
