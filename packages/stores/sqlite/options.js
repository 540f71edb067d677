/** The options of the constructor. */
const { resolve } = require("node:path");
const { inspect } = require("node:util");
const { ScoringError } = require("@knowledgepulse/scoring");

const NAMESPACE_LENGTH = 200;

function invalidOption(path, expected, found) {
	return new ScoringError(`${path}: expected ${expected}, got ${found}`, {
		...{ code: "INVALID_OPTION", path },
	});
}

/** A value as an error message shows it. */
function shown(value) {
	if (typeof value === "string" && value.length > 60)
		return `a string of ${value.length} characters`;
	return inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY });
}

const isNamespace = (value) =>
	typeof value === "string" &&
	value.length >= 1 &&
	value.length <= NAMESPACE_LENGTH &&
	!value.includes("\0");

/** `:memory:` would be a store of one thread, which nothing shares. */
const isPath = (value) =>
	typeof value === "string" &&
	value !== "" &&
	value !== ":memory:" &&
	!value.includes("\0");

const OPTIONS = {
	path: ["the path of a file", isPath],
	namespace: [
		`a string of 1 to ${NAMESPACE_LENGTH} characters without NUL`,
		isNamespace,
	],
	durable: ["true or false", (value) => typeof value === "boolean"],
};

/** Returns checked options, with an absolute path and defaults. */
exports.checkOptions = function checkOptions(options) {
	if (options === null || typeof options !== "object")
		throw invalidOption("options", "an object", shown(options));
	for (const name of Object.keys(options))
		if (!Object.hasOwn(OPTIONS, name)) {
			const known = Object.keys(OPTIONS).join(", ");
			throw invalidOption(name, `one of ${known}`, "an unknown option");
		}
	const { path, namespace = "default", durable = false } = options;
	const found = { path, namespace, durable };
	for (const [name, [expected, isValid]] of Object.entries(OPTIONS))
		if (!isValid(found[name]))
			throw invalidOption(name, expected, shown(found[name]));
	return { ...found, path: resolve(path) };
};
