/** The options that all stores have. */
const {
	LONGEST_ID,
	check,
	checkVersion,
	invalidOption,
	isId,
	kind,
	kinds,
	readOptions,
} = require("@knowledgepulse/scoring/internal/options");

checkVersion(require("./package.json"));

/** The maximum length of a namespace: an index key of PostgreSQL has at most 2,700 bytes. */
const LONGEST = 200;

/** NUL is refused, because SQLite's binding cuts text there, and PostgreSQL does not support it. */
function isNamespace(value) {
	const isText = typeof value === "string" && value.isWellFormed() && !value.includes("\0");
	return isText && value.length >= 1 && value.length <= LONGEST;
}

const SHARED = {
	namespace: kind(
		`a string of 1 to ${LONGEST} characters without NUL or lone surrogates`,
		isNamespace,
	),
	durable: kinds.flag,
};

/** Returns checked options with defaults. `known` has the kinds of the store's own and of these. */
function readStoreOptions(options, known) {
	const { namespace = "default", durable = false, ...own } = readOptions(options, known);
	return { ...own, namespace, durable };
}

/** Refuses entries that others would take long to read. Longer ids that others have written are read as null. */
function checkIds(entries) {
	for (const [index, { id }] of entries.entries())
		if (id != null && !isId(id)) {
			const length = String(Buffer.byteLength(id));
			throw invalidOption(`entries[${index}].id`, `at most ${LONGEST_ID} bytes`, length);
		}
}

const REMOVALS = {
	// By shape, because a date may come from another realm.
	date: kind("a valid Date", (value) => Number.isFinite(value?.getTime?.())),
	namespace: SHARED.namespace,
};

/** Returns the signal of the options of a call. */
const readSignal = (options = {}) => readOptions(options, { signal: kinds.signal }).signal;

/** Checks what is removed, which has this name, and returns the signal of the options. */
function readRemoval(name, value, options) {
	const { fits, expected } = REMOVALS[name];
	check(fits(value), name, expected, value);
	return readSignal(options);
}

module.exports = { SHARED, checkIds, readRemoval, readSignal, readStoreOptions };
