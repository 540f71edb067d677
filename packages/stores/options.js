/** What the options of all stores have in common. */
const { inspect } = require("node:util");
const { invalidOption } = require("@knowledgepulse/scoring/internal/options");

/** The longest namespace: a key of an index of PostgreSQL has at most 2,700 bytes. */
const NAMESPACE_LENGTH = 200;

/** Returns whether a text has a URL, as a connection string with a password is one. */
function hasUrl(text) {
	// More than the one letter of a Windows drive.
	return /\w\w:\/\//.test(text);
}

/** A value as an error message shows it, unless it may have a password. */
function shown(value) {
	if (typeof value === "string" && (value.length > 60 || hasUrl(value)))
		return `a string of ${value.length} characters`;
	if ((typeof value === "object" && value !== null) || typeof value === "function")
		return typeof value;
	return inspect(value);
}

/** Checks that options are an object that has none but the known ones. */
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

/** SQLite's binding cuts text at NUL, and PostgreSQL has no text with it. */
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
