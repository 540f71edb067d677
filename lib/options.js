/** Checks and reads options. The addon trusts what it gets. */
const { URL, fileURLToPath } = require("node:url");
const { ScoringError } = require("./errors.js");

/** Loaded for errors only, because it may be missing. */
const addon = () => require("./native.js").native;

const isObject = (value) => typeof value === "object" && value !== null;
const isNumber = (value) => typeof value === "number";

/** Formats a value for an error message: `42`, `"abc"`, `an array`. */
function describe(value) {
	// Only its beginning is shown.
	if (typeof value === "string") return addon().shown(value.slice(0, 100));
	if (typeof value === "bigint") return `${addon().shown(String(value)).replaceAll('"', "")}n`;
	if (typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
	if (isObject(value)) return Array.isArray(value) ? "an array" : "an object";
	return String(value);
}

/** Returns an error, by default with `code: "INVALID_OPTION"`. */
function invalidOption(path, expected, found, code = "INVALID_OPTION") {
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, { code, path });
}

/** Throws an error, by default with `code: "INVALID_OPTION"`, unless a value fits. */
function check(fits, path, expected, value, code = undefined) {
	if (!fits) throw invalidOption(path, expected, describe(value), code);
}

/** Recognised by shape, because a signal may come from another realm. */
function isSignal(value) {
	return (
		isObject(value) &&
		typeof value.aborted === "boolean" &&
		typeof value.addEventListener === "function" &&
		typeof value.removeEventListener === "function"
	);
}

/**
 * The values of an option: those that fit, which are what is expected. `read`, if there is one, converts them.
 * @typedef {{ fits: (value: any) => boolean, expected: string, read?: Function, isRequired?: boolean }} Kind
 */

const within = (least, most, expected = `a number in [${least}, ${most}]`) => ({
	fits: (value) => isNumber(value) && value >= least && value <= most,
	expected,
});

const integer = (most, expected = `an integer from 1 to ${most}`) => ({
	fits: (value) => Number.isInteger(value) && value >= 1 && value <= most,
	expected,
});

/** Expects names as `"a", "b" or "c"`. */
const oneOf = (...names) => ({
	fits: (value) => names.includes(value),
	expected: `"${names.join('", "').replace(/, (?=[^,]*$)/, " or ")}"`,
});

const kinds = {
	any: { fits: () => true, expected: "" },
	text: { fits: (value) => typeof value === "string", expected: "a string" },
	flag: { fits: (value) => typeof value === "boolean", expected: "true or false" },
	action: { fits: (value) => typeof value === "function", expected: "a function" },
	signal: { fits: isSignal, expected: "an AbortSignal" },
	errors: oneOf("reject", "collect"),
	positive: integer(2 ** 32 - 1, "a positive integer"),
	share: within(0, 1),
	similarity: within(-1, 1),
	time: within(0, Number.POSITIVE_INFINITY, "a number of milliseconds, 0 or more"),
	/** Weights by domain, as rows: as property names, domains would lose lone surrogates and NUL in the addon. */
	profiles: {
		fits: isObject,
		expected: "an object of weights by domain",
		read: (given, path) =>
			Object.keys(given).map((domain) => {
				const weights = readOptions(given[domain], WEIGHTS, `${path}.${domain}`);
				return [domain, ...Object.values(weights)];
			}),
	},
};

const { text, flag, positive } = kinds;

/** The addon checks the names of choices, which environment variables have too. */
const SETTINGS = {
	embedder: text,
	backend: text,
	precision: text,
	model: text,
	pooling: text,
	normalize: flag,
	maxTokens: positive,
	prefix: text,
	output: text,
	library: text,
	threshold: kinds.share,
};

const weight = { fits: isNumber, expected: "a number", isRequired: true };
const WEIGHTS = {
	complexity: weight,
	novelty: weight,
	toolDiversity: weight,
	outcomeConfidence: weight,
};

/** Returns a checked value of an option; undefined only for one that is not required. */
function readValue(/** @type {Kind} */ { fits, expected, read, isRequired }, path, value) {
	if (value === undefined && !isRequired) return undefined;
	check(fits(value), path, expected, value);
	return read ? read(value, path) : value;
}

function checkNames(options, known, at) {
	check(isObject(options), at, "an object", options);
	for (const name of Object.keys(options)) {
		if (known.includes(name)) continue;
		const meant = addon().suggest(name, known);
		throw invalidOption(
			pathOf(at, name),
			`one of the options ${known.join(", ")}`,
			`an unknown option${meant ? `; did you mean ${meant}?` : ""}`,
		);
	}
}

const pathOf = (at, name) => (at === "options" ? name : `${at}.${name}`);

/**
 * Returns the options that are `known`, with their kinds, in an object without a prototype. Reads each once, and none
 * of a prototype.
 */
function readOptions(options, known, at = "options") {
	checkNames(options, Object.keys(known), at);
	const given = Object.create(null);
	for (const name of Object.keys(known)) {
		const value = Object.hasOwn(options, name) ? options[name] : undefined;
		given[name] = readValue(known[name], pathOf(at, name), value);
	}
	return given;
}

/** The settings among options that are read, as texts like those of environment variables. */
function settingsOf(given) {
	const texts = Object.create(null);
	for (const name of Object.keys(SETTINGS))
		if (given[name] !== undefined) texts[name] = String(given[name]);
	return texts;
}

/** Checks that options are an object with these names, and the type of its signal. */
function checkOptions(options, known) {
	checkNames(options, known, "options");
	readValue(kinds.signal, "signal", options.signal);
}

function checkBoolean(name, value) {
	readValue(flag, name, value);
}

/** The path of a file that is given as a string or a URL. */
function fileOf(value, name) {
	if (typeof value === "string") return value;
	check(value instanceof URL, name, "a string or a URL", value);
	check(value.protocol === "file:", name, "a file: URL", value.href);
	return fileURLToPath(value);
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
	SETTINGS,
	callOptions,
	check,
	checkBoolean,
	checkOptions,
	describe,
	fileOf,
	invalidOption,
	isNumber,
	isObject,
	integer,
	kinds,
	oneOf,
	readOptions,
	readValue,
	settingsOf,
	within,
};
