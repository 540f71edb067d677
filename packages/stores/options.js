/** Checks of options that all stores share. */
const { inspect } = require("node:util");
const { invalidOption } = require("@knowledgepulse/scoring/internal/options");

/** The maximum length of a namespace: an index key of PostgreSQL has at most 2,700 bytes. */
const NAMESPACE_LENGTH = 200;

/** Returns whether a text contains a URL, and so perhaps a password. */
function hasUrl(text) {
	// At least two letters: one is a Windows drive.
	return /\w\w:\/\//.test(text);
}

/** Formats a value for an error message; hides one that may contain a password. */
function shown(value) {
	if (typeof value === "string" && (value.length > 60 || hasUrl(value)))
		return `a string of ${value.length} characters`;
	if ((typeof value === "object" && value !== null) || typeof value === "function")
		return typeof value;
	return inspect(value);
}

/** Checks that options are an object with known names only. */
function checkNames(options, known) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", shown(options));
	for (const name of Object.keys(options))
		if (!known.includes(name))
			throw invalidOption(name, `one of the options ${known.join(", ")}`, "an unknown option");
}

function checkBoolean(name, value) {
	if (typeof value !== "boolean") throw invalidOption(name, "true or false", shown(value));
}

/** NUL is refused, because SQLite's binding cuts text there, and PostgreSQL does not support it. */
function checkNamespace(value) {
	if (
		typeof value !== "string" ||
		value.length === 0 ||
		value.length > NAMESPACE_LENGTH ||
		value.includes("\0") ||
		!value.isWellFormed()
	)
		throw invalidOption(
			"namespace",
			`a string of 1 to ${NAMESPACE_LENGTH} characters without NUL or lone surrogates`,
			shown(value),
		);
}

module.exports = { checkBoolean, checkNames, checkNamespace, hasUrl, invalidOption, shown };
