/** The check of an option that all stores have. */
const { check } = require("@knowledgepulse/scoring/internal/options");

/** The maximum length of a namespace: an index key of PostgreSQL has at most 2,700 bytes. */
const LONGEST = 200;

/** NUL is refused, because SQLite's binding cuts text there, and PostgreSQL does not support it. */
exports.checkNamespace = function checkNamespace(value) {
	const isText = typeof value === "string" && value.isWellFormed() && !value.includes("\0");
	const fits = isText && value.length >= 1 && value.length <= LONGEST;
	const expected = `a string of 1 to ${LONGEST} characters without NUL or lone surrogates`;
	check(fits, "namespace", expected, value);
};
