/** The files and streams in the arguments of a command. */
const { constants, createReadStream, openSync } = require("node:fs");
const { readdir, stat } = require("node:fs/promises");
const { Socket } = require("node:net");
const { join, relative, sep } = require("node:path");
const { glob, isDynamicPattern } = require("tinyglobby");
const { importTraces } = require("./engine.js");
const { InputError, cannot } = require("./exit.js");
const { count, warn } = require("./terminal.js");

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {string} [path] Of a file that the importer reads by itself.
 * @property {number} [size] In bytes; of regular files.
 * @property {() => AsyncIterable<Buffer>} bytes The contents in UTF-8.
 * @property {boolean} [isStream] Whether it can be read only once.
 * @property {boolean} [isFound] Whether a folder was searched for it: it is skipped if it is not a log.
 */

const LOG = /\.(jsonl?|ndjson|traj)(\.(gz|zst))?$/i;

/** Byte order marks of UTF-16, which Windows PowerShell's `>` writes. */
const UTF_16 = { fffe: "utf-16le", feff: "utf-16be" };

/** Returns a path with slashes, also on Windows, for patterns and sorting. */
const slashed = (path, separator = sep) => (separator === "\\" ? path.replaceAll("\\", "/") : path);

/** The paths of logs in a folder and its subfolders. */
async function logsIn(folder) {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const start = /[/\\]$/.test(slashed(folder)) ? folder : `${folder}/`;
	return entries
		.filter((entry) => !entry.isDirectory() && LOG.test(entry.name))
		.map((entry) => join(entry.parentPath ?? entry.path, entry.name))
		.map((path) => start + slashed(relative(folder, path)));
}

/**
 * Returns the paths that match a pattern. The search starts in the folder before the first special
 * character, which may be on another drive.
 */
async function matchesOf(pattern) {
	const [, start, rest] = /^((?:[^*?[\](){}!+@\\/]*\/)*)(.*)$/s.exec(slashed(pattern));
	const found = await glob(rest, { cwd: start || ".", dot: true, expandDirectories: false });
	return found.map((path) => start + path);
}

/** The bytes of a file. Node.js names it only in errors of opening it. */
const open = (path) =>
	createReadStream(path).on("error", (error) => {
		if (error.syscall === "read") error.message += ` '${path}'`;
	});

async function encodingOf(path) {
	for await (const start of createReadStream(path, { end: 1 }))
		return UTF_16[start.toString("hex")];
}

async function* decoded(path, encoding) {
	const decoder = new TextDecoder(encoding);
	for await (const chunk of open(path)) yield Buffer.from(decoder.decode(chunk, { stream: true }));
}

async function fileSource(path, { size }) {
	// A file that cannot be read fails when it is imported.
	const encoding = await encodingOf(path).catch(() => undefined);
	if (encoding) return { name: path, bytes: () => decoded(path, encoding) };
	return { name: path, path, size, bytes: () => open(path) };
}

/** A named pipe, opened without waiting for a writer: a waiting thread would keep the process alive. */
function pipeSource(path) {
	const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
	const socket = new Socket({ fd, readable: true, writable: false, pauseOnCreate: true });
	return { name: path, isStream: true, bytes: () => socket };
}

/** Returns the regular files among paths. Those that cannot be read fail when they are imported. */
async function filesOf(paths, nothing) {
	const sources = [];
	for (const path of paths.sort()) {
		const found = await stat(path).catch(() => ({ isFile: () => true }));
		if (found.isFile()) sources.push(await fileSource(path, found));
	}
	if (sources.length === 0) throw new InputError(nothing);
	return sources;
}

async function sourcesOfOne(argument) {
	if (argument === "-") return [{ name: "stdin", isStream: true, bytes: () => process.stdin }];
	const found = await stat(argument).catch((error) => {
		if (error.code === "ENOENT" && isDynamicPattern(argument)) return undefined;
		throw cannot("read", argument, error);
	});
	if (found === undefined) return filesOf(await matchesOf(argument), `no file matches ${argument}`);
	if (found.isDirectory()) {
		const nothing = `${argument}: no .json, .jsonl, .ndjson or .traj files in it, compressed ones (.gz, .zst) included`;
		const files = await filesOf(await logsIn(argument), nothing);
		return files.map((source) => ({ ...source, isFound: true }));
	}
	if (found.isFile()) return [await fileSource(argument, found)];
	if (found.isFIFO()) return [pipeSource(argument)];
	return [{ name: argument, path: argument, isStream: true, bytes: () => open(argument) }];
}

/** @returns {Promise<Source[]>} In the order of the arguments. */
async function sourcesOf(args) {
	if (args.filter((argument) => argument === "-").length > 1)
		throw new InputError("standard input (-) can be read only once");
	const sources = [];
	for (const argument of args) sources.push(...(await sourcesOfOne(argument)));
	return sources;
}

/** Codes of errors in the contents of a source. */
const OF_CONTENTS =
	"INVALID_JSON INVALID_TRACE INVALID_UTF8 TOO_LARGE UNKNOWN_FORMAT UNKNOWN_RECORDS".split(" ");

/** Returns a function that tells whether an error is in the contents of a file from a folder. */
function isInFolder(sources) {
	const found = new Set(sources.filter(({ isFound }) => isFound).map(({ name }) => name));
	return ({ code, source }) => OF_CONTENTS.includes(code) && found.has(source);
}

/** Whether an error means that the only input is not a log. */
function isNoLog({ code, line }, { inputs: [input] }) {
	// Most records are of another kind, although some look like those of a format.
	if (code === "UNKNOWN_RECORDS") return line === undefined;
	return OF_CONTENTS.includes(code) && input.formats.length === 0;
}

/** The time of the first trace of a source; infinite without one, `undefined` for a file that is skipped. */
async function firstTime(source, run) {
	if (source.isStream) return Number.POSITIVE_INFINITY;
	const imported = importTraces([source], run);
	const isSkipped = (error) => source.isFound && isNoLog(error, imported.report);
	const isPassedOver = run.options.errors === undefined ? isInFolder([source]) : () => true;
	try {
		for await (const { trace, error } of imported) {
			if (error && isSkipped(error)) return undefined;
			if (error && !isPassedOver(error)) throw error;
			if (!trace) continue;
			const time = Date.parse(trace.metadata.created_at);
			return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
		}
	} catch (error) {
		if (!isSkipped(error)) throw error;
		return undefined;
	}
	return Number.POSITIVE_INFINITY;
}

/**
 * Sorts sources by the time of their first trace; streams and sources without a time come last. Reads each
 * source up to its first trace, and leaves out files of folders that are not logs.
 */
async function inOrder(sources, run) {
	if (sources.length < 2 && !sources[0]?.isFound) return sources;
	const times = new Map();
	const skipped = [];
	try {
		for (const source of sources) {
			const time = await firstTime(source, run);
			if (time === undefined) skipped.push(source.name);
			else times.set(source, time);
		}
	} catch (error) {
		if (!run.signal.aborted) throw error;
	}
	if (skipped.length > 0) {
		const files = count(skipped.length, "file");
		warn(`skipped ${files} without a log of an agent, such as ${skipped[0]}`);
	}
	// Infinity - Infinity is NaN, which `sort` takes as 0: the order stays.
	return [...times.keys()].sort((a, b) => times.get(a) - times.get(b));
}

module.exports = { inOrder, isInFolder, slashed, sourcesOf };
