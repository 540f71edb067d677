/** The options that all stores have. */
const {
	invalidOption,
	kind,
	kinds,
	readOptions,
} = require("@knowledgepulse/scoring/internal/options");

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

/** The maximum length of an id, as for traces, in bytes of UTF-8. Longer ones that others have written are read as null. */
const LONGEST_ID = 1024;

/** Refuses entries that others would take long to read. */
function checkIds(entries) {
	for (const [index, { id }] of entries.entries()) {
		const length = Buffer.byteLength(id ?? "");
		if (length > LONGEST_ID)
			throw invalidOption(`entries[${index}].id`, `at most ${LONGEST_ID} bytes`, String(length));
	}
}

module.exports = { SHARED, checkIds, readStoreOptions };
