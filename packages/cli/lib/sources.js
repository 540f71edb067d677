/** The files and streams in the arguments of a command. */
const { constants, createReadStream, fstatSync, openSync } = require("node:fs");
const { access, readdir, realpath, stat } = require("node:fs/promises");
const { relative, sep } = require("node:path");
const { addAbortSignal } = require("node:stream");
const { setImmediate } = require("node:timers/promises");
const { until } = require("@knowledgepulse/scoring/internal/signals");
const { decoder, timeAndSizeOf } = require("./beginnings.js");
const { claimInput, isStandardOutput } = require("./claims.js");
const { InputError, cannot } = require("./exit.js");
const { count, warn } = require("./terminal.js");

/**
 * @typedef {object} Source
 * @property {string} name
 * @property {string} [path] Of a file or a pipe, which the importer reads by itself.
 * @property {number} [size] In bytes; of regular files, once they are in order.
 * @property {number} [time] In milliseconds; of files, once they are in order.
 * @property {AsyncIterable<Buffer | string>} [data] The contents, without a path.
 * @property {number} [descriptor] Of standard input.
 * @property {boolean} [isStream] Whether it can be read only once.
 * @property {boolean} [isPipe] Whether it is a named pipe.
 * @property {boolean} [isFound] Whether a folder was searched for it: it is skipped if it is not a log.
 */

const LOG = /\.(jsonl?|ndjson|traj)(\.(gz|zst))?$/i;

/** What agents keep beside their logs. */
const COMPANION = /(^(sessions-index|ui_messages|task_metadata|history_item)|\.meta)\.json$/;

/** Returns a path with slashes, also on Windows, for patterns and sorting. */
const slashed = (path, separator = sep) => (separator === "\\" ? path.replaceAll("\\", "/") : path);

const isLog = (name) => LOG.test(name) && !COMPANION.test(name);

/** A search for files. Links may lead back, or to what nobody wants to read, or to share, so they are only counted. */
class Search {
	#links = [];
	#unreadable = [];

	/** Resolves to what is in a folder, apart from links. */
	async entriesOf(folder) {
		const entries = await readdir(folder, { withFileTypes: true }).catch(() => {
			this.#unreadable.push(folder);
			return [];
		});
		for (const { name } of entries.filter((entry) => entry.isSymbolicLink())) {
			const path = below(folder, name);
			const target = isLog(name) || (await stat(path).catch(() => undefined));
			if (target === true || target?.isDirectory()) this.#links.push(path);
		}
		return entries.filter((entry) => !entry.isSymbolicLink());
	}

	warn() {
		const links = count(this.#links.length, "link");
		if (this.#links.length > 0)
			warn(
				`did not follow ${links}, such as ${this.#links[0]}; name them to read what they lead to`,
			);
		const folders = count(this.#unreadable.length, "folder");
		if (this.#unreadable.length > 0) warn(`cannot read ${folders}, such as ${this.#unreadable[0]}`);
	}
}

const below = (folder, name) => (/[/\\]$/.test(slashed(folder)) ? folder : `${folder}/`) + name;

/** The paths of logs in a folder and its subfolders; one that is there twice, compressed and not, only once. */
async function logsIn(folder, search) {
	await access(folder, constants.R_OK).catch((error) => {
		throw cannot("read", folder, error);
	});
	const found = new Set();
	const folders = [folder];
	// It grows meanwhile.
	for (const each of folders)
		for (const entry of await search.entriesOf(each)) {
			const path = below(each, entry.name);
			if (entry.isDirectory()) folders.push(path);
			else if (entry.isFile() && isLog(entry.name)) found.add(path);
		}
	const plain = (path) => path.replace(/\.(gz|zst)$/i, "");
	return [...found].filter((path) => plain(path) === path || !found.has(plain(path)));
}

/** The paths that match a pattern. The search starts before its first special character, maybe on another drive. */
async function matchesOf(pattern, search) {
	const { glob } = require("tinyglobby");
	const [, start, rest] = /^((?:[^*?[\](){}!+@\\/]*\/)*)(.*)$/s.exec(slashed(pattern));
	const shown = (folder) => start + slashed(relative(start, folder)) || ".";
	const readdir = (folder, _, done) =>
		search.entriesOf(shown(folder)).then((entries) => done(null, entries), done);
	const options = { cwd: start || ".", dot: true, expandDirectories: false, fs: { readdir } };
	return (await glob(rest, options)).map((path) => start + path);
}

/** The bytes of a file. Node.js names it only in errors of opening it. */
const open = (path) =>
	createReadStream(path).on("error", (error) => {
		if (error.syscall === "read") error.message += ` '${path}'`;
	});

/** Opens a named pipe without waiting for a writer: a waiting thread would keep the process alive. */
function openPipe(path) {
	const { Socket } = require("node:net");
	const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
	return new Socket({ fd, readable: true, writable: false, pauseOnCreate: true });
}

/** The contents of a source as text in UTF-8, decompressed as the importer does. A stream may stay silent until the abort. */
async function* decoded({ data, isPipe, name, path }, signal) {
	const decode = decoder(name);
	const bytes = data ?? (isPipe ? openPipe(path) : open(path));
	for await (const chunk of addAbortSignal(signal, bytes)) yield* decode(chunk);
	yield* decode();
}

/** A name that begins like JSON would be read as text. */
const fileSource = (given) => {
	const path = /^\s*[[{]/.test(given) ? `./${given}` : given;
	return { name: path, path, size: undefined, time: undefined };
};

/** Resolves to the sources of a pattern or a folder, without standard output and what is in the folder `copies`. */
async function searched(argument, isFolder, copies) {
	const search = new Search();
	const paths = await (isFolder ? logsIn : matchesOf)(argument, search);
	search.warn();
	const target = copies && (await realpath(copies).catch(() => undefined));
	const isCopy = async (path) => (await realpath(path).catch(() => path)).startsWith(target + sep);
	const kept = [];
	for (const path of paths) {
		if (!isStandardOutput(path) && !(target && (await isCopy(path)))) kept.push(path);
	}
	if (kept.length === 0)
		throw new InputError(
			isFolder
				? `${argument}: no .json, .jsonl, .ndjson or .traj files in it, compressed ones (.gz, .zst) included`
				: `no file matches ${argument}`,
		);
	// Those that cannot be read fail when they are imported.
	return kept.sort().map((path) => Object.assign(fileSource(path), isFolder && { isFound: true }));
}

function standardInput() {
	if (process.platform !== "win32" && fstatSync(0).isDirectory())
		throw new InputError("standard input is a folder; name it in place of -");
	return { name: "stdin", descriptor: 0, isStream: true, data: process.stdin };
}

async function sourcesOfOne(argument, copies) {
	if (argument === "-") return [standardInput()];
	const found = await stat(argument).catch((error) => {
		if (error.code === "ENOENT" && require("tinyglobby").isDynamicPattern(argument))
			return undefined;
		throw cannot("read", argument, error);
	});
	if (!found || found.isDirectory()) return searched(argument, found !== undefined, copies);
	if (found.isFile()) return [fileSource(argument)];
	return [{ name: argument, path: argument, isStream: true, isPipe: found.isFIFO() }];
}

/**
 * Each file is a source once, under its first name. What is in the folder `copies` is none, unless it is named.
 * @returns {Promise<Source[]>} In the order of the arguments.
 */
async function sourcesOf(args, copies = undefined) {
	const sources = new Map();
	for (const argument of args)
		for (const source of await sourcesOfOne(argument, copies)) {
			const { descriptor, isFound, name } = source;
			const key = claimInput(descriptor ?? name) ?? source;
			const earlier = sources.get(key);
			if (!earlier) sources.set(key, source);
			// What is wrong with a file that is named is not passed over.
			else if (!isFound) earlier.isFound = undefined;
		}
	return [...sources.values()];
}

const LONGEST = 64 << 20;

/** How many files are read in one turn of the event loop. */
const SOME = 200;

/** The sources with their sizes, in the order of their times, streams last. `onRead` gets the number of files that were read. */
async function inOrder(sources, signal, onRead) {
	const files = sources.filter(({ isStream }) => !isStream);
	for (const [index, source] of files.entries()) {
		Object.assign(source, timeAndSizeOf(source.path));
		if (index % SOME > 0) continue;
		onRead(index);
		await setImmediate();
		signal.throwIfAborted();
	}
	const timeOf = ({ time }) => time ?? Number.POSITIVE_INFINITY;
	// Infinity - Infinity is NaN, which `sort` takes as 0: the order stays.
	return sources.sort((a, b) => timeOf(a) - timeOf(b));
}

/** The text of a file or a pipe of at most `LONGEST` bytes, decoded as sources are. */
async function textOf(path, { signal }) {
	claimInput(path);
	const read = async () => {
		const isPipe = (await stat(path)).isFIFO();
		const parts = [];
		let length = 0;
		for await (const part of decoded({ name: path, path, isPipe }, signal)) {
			length += part.length;
			if (length > LONGEST) throw new Error("expected at most 64 MiB, found more");
			parts.push(part);
		}
		return Buffer.concat(parts)
			.toString()
			.replace(/^\uFEFF/, "");
	};
	const contents = read().catch((error) => {
		throw error instanceof InputError ? error : cannot("read", path, error);
	});
	return until(signal, contents);
}

module.exports = { decoded, inOrder, open, slashed, sourcesOf, textOf };
