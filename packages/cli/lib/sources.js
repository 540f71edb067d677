/** The files and streams in the arguments of a command. */
const { constants, createReadStream, openSync, statSync } = require("node:fs");
const { readdir, stat } = require("node:fs/promises");
const { sep } = require("node:path");
const { addAbortSignal } = require("node:stream");
const { until } = require("@knowledgepulse/scoring/internal/signals");
const { decoder, factsOf } = require("./beginnings.js");
const { claimInput } = require("./claims.js");
const { InputError, cannot } = require("./exit.js");
const { count, warn } = require("./terminal.js");

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {string} [path] Of a file that the importer reads by itself.
 * @property {number} [size] In bytes; of regular files, once they are in order.
 * @property {() => import("node:stream").Readable} bytes The contents.
 * @property {boolean} [isStream] Whether it can be read only once.
 * @property {boolean} [isFound] Whether a folder was searched for it: it is skipped if it is not a log.
 */

const LOG = /\.(jsonl?|ndjson|traj)(\.(gz|zst))?$/i;

/** What agents keep beside their logs. */
const COMPANION = /(^(sessions-index|ui_messages|task_metadata|history_item)|\.meta)\.json$/;

/** Returns a path with slashes, also on Windows, for patterns and sorting. */
const slashed = (path, separator = sep) => (separator === "\\" ? path.replaceAll("\\", "/") : path);

/**
 * The paths of logs in a folder and its subfolders; one that is there twice, compressed and not, only once. Links may lead to
 * what nobody wants to read, or to share, so they are only counted.
 */
async function logsIn(folder) {
	const found = new Set();
	const unreadable = [];
	const links = [];
	const folders = [folder];
	// It grows meanwhile.
	for (const each of folders) {
		const entries = await readdir(each, { withFileTypes: true }).catch((error) => {
			if (each === folder) throw cannot("read", folder, error);
			unreadable.push(each);
			return [];
		});
		const start = /[/\\]$/.test(slashed(each)) ? each : `${each}/`;
		for (const entry of entries) {
			const path = start + entry.name;
			const isLog = LOG.test(entry.name) && !COMPANION.test(entry.name);
			if (entry.isDirectory()) folders.push(path);
			else if (entry.isSymbolicLink()) {
				const target = await stat(path).catch(() => undefined);
				if (isLog || target?.isDirectory()) links.push(path);
			} else if (isLog && entry.isFile()) found.add(path);
		}
	}
	if (links.length > 0)
		warn(
			`did not follow ${count(links.length, "link")}, such as ${links[0]}; name them to read what they lead to`,
		);
	if (unreadable.length > 0)
		warn(`cannot read ${count(unreadable.length, "folder")}, such as ${unreadable[0]}`);
	const plain = (path) => path.replace(/\.(gz|zst)$/i, "");
	return [...found].filter((path) => plain(path) === path || !found.has(plain(path)));
}

/** The paths that match a pattern. The search starts before its first special character, maybe on another drive. */
async function matchesOf(pattern) {
	const { glob } = require("tinyglobby");
	const [, start, rest] = /^((?:[^*?[\](){}!+@\\/]*\/)*)(.*)$/s.exec(slashed(pattern));
	const found = await glob(rest, { cwd: start || ".", dot: true, expandDirectories: false });
	const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
	return found.map((path) => start + path).filter(isFile);
}

/** The bytes of a file. Node.js names it only in errors of opening it. */
const open = (path) =>
	createReadStream(path).on("error", (error) => {
		if (error.syscall === "read") error.message += ` '${path}'`;
	});

/** The contents of a source as text in UTF-8, decompressed as the importer does. */
async function* decoded({ name, bytes }) {
	const decode = decoder(name);
	for await (const chunk of bytes()) yield* decode(chunk);
	yield* decode();
}

/** One function for very many files. */
function bytesOfFile() {
	return open(this.path);
}

const fileSource = (path) => ({ name: path, path, size: undefined, bytes: bytesOfFile });

/** A named pipe, opened without waiting for a writer: a waiting thread would keep the process alive. */
function pipeSource(path) {
	const { Socket } = require("node:net");
	const bytes = () => {
		const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
		return new Socket({ fd, readable: true, writable: false, pauseOnCreate: true });
	};
	return { name: path, isStream: true, bytes };
}

/** Returns the sources at paths. Those that cannot be read fail when they are imported. */
function filesOf(paths, nothing) {
	if (paths.length === 0) throw new InputError(nothing);
	return paths.sort().map(fileSource);
}

async function sourcesOfOne(argument) {
	if (argument === "-") return [{ name: "stdin", isStream: true, bytes: () => process.stdin }];
	const found = await stat(argument).catch((error) => {
		if (error.code === "ENOENT" && require("tinyglobby").isDynamicPattern(argument))
			return undefined;
		throw cannot("read", argument, error);
	});
	if (found === undefined) return filesOf(await matchesOf(argument), `no file matches ${argument}`);
	if (found.isDirectory()) {
		const nothing = `${argument}: no .json, .jsonl, .ndjson or .traj files in it, compressed ones (.gz, .zst) included`;
		const files = filesOf(await logsIn(argument), nothing);
		return files.map((source) => Object.assign(source, { isFound: true }));
	}
	if (found.isFile()) return [fileSource(argument)];
	if (found.isFIFO()) return [pipeSource(argument)];
	return [{ name: argument, path: argument, isStream: true, bytes: () => open(argument) }];
}

/** @returns {Promise<Source[]>} In the order of the arguments. */
async function sourcesOf(args) {
	if (args.filter((argument) => argument === "-").length > 1)
		throw new InputError("standard input (-) can be read only once");
	const sources = [];
	for (const argument of args) sources.push(await sourcesOfOne(argument));
	return sources.flat();
}

const LONGEST = 64 << 20;

/** The sources with their sizes, in the order of their times, streams last. `onRead` gets the number of files that were read. */
async function inOrder(sources, signal, onRead) {
	const files = sources.filter(({ isStream }) => !isStream);
	const found = await factsOf(
		files.map(({ path }) => path),
		{ onRead, signal },
	);
	const times = new Map();
	for (const [index, source] of files.entries()) {
		const [time, size] = found.subarray(2 * index);
		times.set(source, time);
		if (!Number.isNaN(size)) source.size = size;
	}
	const timeOf = (source) => times.get(source) ?? Number.POSITIVE_INFINITY;
	// Infinity - Infinity is NaN, which `sort` takes as 0: the order stays.
	return sources.sort((a, b) => timeOf(a) - timeOf(b));
}

/** The contents of a file or a pipe of at most `LONGEST` bytes. */
async function boundedContentsOf(path, { signal }) {
	claimInput(path);
	const read = async () => {
		const isPipe = (await stat(path)).isFIFO();
		const parts = [];
		let length = 0;
		const stream = addAbortSignal(signal, isPipe ? pipeSource(path).bytes() : open(path));
		for await (const part of stream) {
			length += part.length;
			if (length > LONGEST) throw new Error("expected at most 64 MiB, found more");
			parts.push(part);
		}
		return Buffer.concat(parts);
	};
	const contents = read().catch((error) => {
		throw cannot("read", path, error);
	});
	return until(signal, contents);
}

module.exports = { boundedContentsOf, decoded, inOrder, slashed, sourcesOf };
