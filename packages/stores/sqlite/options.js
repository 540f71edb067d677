/** The options of the constructor. */
const { resolve } = require("node:path");
const {
	checkBoolean,
	checkNames,
	checkNamespace,
	hasUrl,
	invalidOption,
	shown,
} = require("../options.js");

/** `:memory:` would be a store of one thread, which nothing shares. */
const isPath = (value) =>
	typeof value === "string" &&
	value !== "" &&
	value !== ":memory:" &&
	!value.includes("\0") &&
	!hasUrl(value);

/** Returns checked options, with an absolute path and defaults. */
exports.checkOptions = function checkOptions(options) {
	checkNames(options, ["path", "namespace", "durable"]);
	const { path, namespace = "default", durable = false } = options;
	if (!isPath(path)) throw invalidOption("path", "the path of a file", shown(path));
	checkNamespace(namespace);
	checkBoolean("durable", durable);
	return { path: resolve(path), namespace, durable };
};
