/** The files that the arguments of a command name. */
const { readdir, stat } = require("node:fs/promises");
const { join } = require("node:path");
const { glob, isDynamicPattern } = require("tinyglobby");
const { InputError } = require("./exit.js");

const LOG = /\.(jsonl?|ndjson)$/i;

const bytewise = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** The logs in a folder, and in all below it. */
async function logsIn(folder) {
	const entries = await readdir(folder, {
		recursive: true,
		withFileTypes: true,
	});
	const files = entries
		.filter((entry) => !entry.isDirectory() && LOG.test(entry.name))
		.map((entry) => join(entry.parentPath ?? entry.path, entry.name));
	if (files.length === 0)
		throw new InputError(`${folder}: no .json, .jsonl or .ndjson files in it`);
	return files.sort(bytewise);
}

async function filesOf(argument) {
	if (argument === "-") return [{ name: "stdin", data: process.stdin }];
	const found = await stat(argument).catch((error) => {
		if (error.code === "ENOENT" && isDynamicPattern(argument)) return undefined;
		throw new InputError(`cannot read ${argument}: ${reasonOf(error)}`);
	});
	if (found?.isDirectory()) return logsIn(argument);
	if (found) return [argument];
	const files = await glob(argument, { dot: true, expandDirectories: false });
	if (files.length === 0) throw new InputError(`no file matches ${argument}`);
	return files.sort(bytewise);
}

function reasonOf({ code, message }) {
	if (code === "ENOENT") return "there is no such file or folder";
	return code === "EACCES" ? "permission denied" : message;
}

/** The sources for `importTraces`: files of folders and patterns, and standard input for `-`. */
async function sourcesOf(args) {
	if (args.filter((argument) => argument === "-").length > 1)
		throw new InputError("standard input (-) can be read only once");
	const sources = [];
	for (const argument of args) sources.push(...(await filesOf(argument)));
	// A name that begins like JSON would be taken as text.
	return sources.map((source) =>
		typeof source === "string" && /^\s*[[{]/.test(source) ? `./${source}` : source,
	);
}

/** How many bytes the sources have; undefined if one of them is no file. */
async function bytesOf(sources) {
	let bytes = 0;
	for (const source of sources) {
		const found = typeof source === "string" ? await stat(source) : undefined;
		if (!found?.isFile()) return undefined;
		bytes += found.size;
	}
	return bytes;
}

module.exports = { bytesOf, sourcesOf };
