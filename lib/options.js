/** Checks and reads options. The addon trusts what it gets. */
const { Buffer } = require("node:buffer");
const { fileURLToPath } = require("node:url");
const { isPromise } = require("node:util/types");
const { ScoringError } = require("./errors.js");

/** Loaded when needed, because it may be missing. */
const addon = () => require("./native.js").native;

const isFunction = (value) => typeof value === "function";
const isNumber = (value) => typeof value === "number";
const isObject = (value) => typeof value === "object" && value !== null;
const isString = (value) => typeof value === "string";

/** The maximum length of an id in bytes of UTF-8. */
const LONGEST_ID = 1024;

/** Whether a trace may have this id. Bytes are counted only if there may be too many. */
const isId = (id) =>
	isString(id) && (3 * id.length <= LONGEST_ID || Buffer.byteLength(id) <= LONGEST_ID);

/** Formats a value for an error message: `42`, `"abc"`, `an array`. */
function describe(value) {
	// Only its beginning is shown.
	if (isString(value)) return addon().shown(value.slice(0, 100));
	if (typeof value === "bigint") return `${addon().shown(String(value)).replaceAll('"', "")}n`;
	if (typeof value === "symbol" || isFunction(value)) return `a ${typeof value}`;
	if (isPromise(value)) return "a promise";
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

/** Throws an error unless a package beside this one, whose internal modules it uses, has the same version. */
function checkVersion({ name, version }) {
	const own = require("../package.json");
	if (version !== own.version)
		throw new ScoringError(
			`${name}: expected version ${own.version}, that of ${own.name}, got ${version}`,
			{ code: "VERSION_MISMATCH" },
		);
}

/** Recognised by shape, because a signal may come from another realm. */
const isSignal = (value) =>
	isObject(value) &&
	typeof value.aborted === "boolean" &&
	isFunction(value.addEventListener) &&
	isFunction(value.removeEventListener);

/** As Node.js does, which takes a URL of another realm too. */
const isUrl = (value) =>
	isObject(value) && isString(value.href) && isString(value.protocol) && value.auth === undefined;

/** A kind of value: `fits` recognises it, `expected` describes it in messages, `read` converts it. */
const kind = (expected, fits, read = (value, _path) => value) => ({
	expected,
	fits,
	read,
	isRequired: false,
});

const either = (expected, { fits }, other) =>
	kind(expected, (value) => value === other || fits(value));

const required = (kind) => ({ ...kind, isRequired: true });

const within = (least, most, expected = `a number in [${least}, ${most}]`) =>
	kind(expected, (value) => isNumber(value) && value >= least && value <= most);

const integer = (most, expected = `an integer from 1 to ${most}`, least = 1) =>
	kind(expected, (value) => Number.isInteger(value) && value >= least && value <= most);

/** Expects names as `"a", "b" or "c"`. */
const oneOf = (...names) =>
	kind(`"${names.join('", "').replace(/, (?=[^,]*$)/, " or ")}"`, (value) => names.includes(value));

const kinds = {
	any: kind("", () => true),
	text: kind("a string", isString),
	flag: kind("true or false", (value) => typeof value === "boolean"),
	action: kind("a function", isFunction),
	signal: kind("an AbortSignal", isSignal),
	errors: oneOf("reject", "collect"),
	remembered: either('"accepted", "all" or false', oneOf("accepted", "all"), false),
	positive: integer(2 ** 32 - 1, "a positive integer"),
	share: within(0, 1),
	similarity: within(-1, 1),
	traces: kind(
		"an array or an iterable",
		(value) =>
			!isString(value) && isFunction(value?.[Symbol.asyncIterator] ?? value?.[Symbol.iterator]),
	),
	time: within(0, Number.POSITIVE_INFINITY, "a number of milliseconds, 0 or more"),
	/** Weights by domain, as rows: property names would lose lone surrogates and NUL in the addon. */
	profiles: kind("an object of weights by domain", isObject, (given, path) =>
		Object.keys(given).map((domain) => {
			const place = `${path}.${domain}`;
			const weights = Object.values(readOptions(given[domain], WEIGHTS, place));
			const sum = weights.reduce((sum, weight) => sum + weight);
			// Up to rounding.
			if (Math.abs(sum - 1) > 1e-9) throw invalidOption(place, "weights that sum to 1", sum);
			return [domain, ...weights];
		}),
	),
};

const { any, flag, positive, profiles, share, text, time } = kinds;

const SETTINGS = {
	embedder: oneOf("auto", "off", "required"),
	backend: oneOf("onnx", "native"),
	precision: oneOf("exact", "fast"),
	novelty: oneOf("text", "run", "words"),
	model: text,
	pooling: oneOf("mean", "cls", "last"),
	normalize: flag,
	maxTokens: positive,
	prefix: text,
	output: text,
	library: text,
	threshold: share,
};

function variable(name) {
	try {
		return process.env[name];
	} catch {
		// Deno throws for what it does not allow to read.
	}
}

/**
 * Returns the settings in environment variables that are not empty; for one with a wrong value its name, what was expected and
 * what was found, which is an error of every call until another value is configured.
 */
function settingsInVariables() {
	const given = { __proto__: null };
	for (const [name, { expected, fits }] of Object.entries(SETTINGS)) {
		const path = `KNOWLEDGEPULSE_SCORING_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
		const found = variable(path);
		if (!found) continue;
		// Of settings that are no text.
		const meant = { __proto__: null, true: true, false: false }[found] ?? Number(found);
		given[name] = [found, meant].find(fits) ?? [path, expected, describe(found)];
	}
	return given;
}

const weight = required(
	kind("a finite number, 0 or more", (value) => Number.isFinite(value) && value >= 0),
);
const WEIGHTS = {
	complexity: weight,
	novelty: weight,
	toolDiversity: weight,
	outcomeConfidence: weight,
};

/** Returns a checked value of an option; undefined only for one that is not required. */
function readValue({ expected, fits, read, isRequired }, path, value) {
	if (value === undefined && !isRequired) return undefined;
	check(fits(value), path, expected, value);
	return read(value, path);
}

/** The own members of an object, without those that another module may have added to `Object.prototype`. */
const own = (object) => ({ __proto__: null, ...object });

/** The pairs of neighbouring letters of a name, with its ends; of a very long one only the first. */
function pairsOf(name) {
	const letters = ` ${name.slice(0, 50).toLowerCase()} `;
	return new Set(Array.from(letters.slice(1), (letter, at) => letters[at] + letter));
}

/**
 * Returns the known name that an unknown one probably means: the first of those with the most pairs in common, if that are at
 * least half of both. Undefined if there is none.
 */
function suggest(unknown, known) {
	const given = pairsOf(unknown);
	let [found, greatest] = [undefined, 0.49];
	for (const name of known) {
		const pairs = pairsOf(name);
		const common = [...pairs].filter((pair) => given.has(pair)).length;
		const likeness = (2 * common) / (pairs.size + given.size);
		if (likeness > greatest) [found, greatest] = [name, likeness];
	}
	return found;
}

/** Returns the `known` options in an object without a prototype. Reads each own property once, and no other. */
function readOptions(options, known, at = "options") {
	check(isObject(options), at, "an object", options);
	const names = Object.keys(known);
	const pathOf = (name) => (at === "options" ? name : `${at}.${name}`);
	const unknown = Object.keys(options).find((name) => !names.includes(name));
	if (unknown !== undefined) {
		const meant = suggest(unknown, names);
		const found = `an unknown option${meant ? `; did you mean ${meant}?` : ""}`;
		throw invalidOption(pathOf(unknown), `one of the options ${names.join(", ")}`, found);
	}
	const given = Object.create(null);
	for (const name of names) {
		const value = Object.hasOwn(options, name) ? options[name] : undefined;
		given[name] = readValue(known[name], pathOf(name), value);
	}
	return given;
}

const BOUNDS = { maxElements: positive, ttlMs: time };

/** Reads the options of a scorer, and `others`, whose signal is not aborted. */
function scorerOptions(options = {}, others = {}) {
	const given = readOptions(options, {
		...SETTINGS,
		profiles,
		cache: { ...any, read: (cache, path) => readOptions(cache, BOUNDS, path) },
		threads: integer(addon().cores()),
		budgetMs: time,
		store: kind(
			"a store with append() and read()",
			(value) => isFunction(value?.append) && isFunction(value.read),
		),
		storeMode: oneOf("auto", "required"),
		// A store recognises retries for a minute.
		storeTimeoutMs: within(1, 60_000, "a number of milliseconds from 1 to 60000"),
		...others,
	});
	for (const name of ["storeMode", "storeTimeoutMs"])
		if (given[name] !== undefined && given.store === undefined)
			throw invalidOption(name, "a store for it, in the option store", "none");
	if (given.signal?.aborted) throw given.signal.reason;
	return given;
}

function fileOf(value, name) {
	if (isString(value)) return value;
	check(isUrl(value), name, "a string or a URL", value);
	check(value.protocol === "file:", name, "a file: URL", value.href);
	return fileURLToPath(value);
}

/** Returns the `known` options of a call. Ignores other values, such as the index in `traces.map(evaluateValue)`. */
function callOptions(options, known) {
	if (!isObject(options)) return Object.create(null);
	const given = readOptions(options, known);
	if (given.signal?.aborted) throw given.signal.reason;
	return given;
}

module.exports = {
	LONGEST_ID,
	SETTINGS,
	callOptions,
	check,
	checkVersion,
	describe,
	either,
	fileOf,
	integer,
	invalidOption,
	isId,
	isNumber,
	isObject,
	isString,
	isUrl,
	kind,
	kinds,
	oneOf,
	own,
	readOptions,
	required,
	scorerOptions,
	settingsInVariables,
	suggest,
	within,
};
