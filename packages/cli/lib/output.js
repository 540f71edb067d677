/** The outputs for data: standard output, and files. */
const { once } = require("node:events");
const { constants, fstatSync, openSync } = require("node:fs");
const { rm, stat } = require("node:fs/promises");
const { setTimeout: sleep } = require("node:timers/promises");
const { openReplacement, targetOf } = require("@knowledgepulse/scoring/internal/file");
const { onAbort, until } = require("@knowledgepulse/scoring/internal/signals");
const { claimOutput } = require("./claims.js");
const { GRACE_MS, InputError, atEnd, atLast, cannot, causeOf } = require("./exit.js");
const { jsonLine, say, shown } = require("./terminal.js");
const { Unfinished } = require("./unfinished.js");

/** Error codes of writing to a pipe that its reader has closed; `EOF` on Windows. */
const CLOSED = ["EOF", "EPIPE"];

function fail(what, cause) {
	throw new Error(`cannot write ${what}: ${causeOf(cause)}`, { cause });
}

/** A stream: standard output or a named pipe. A reader that has closed it, as `head` does, is not an error. */
class Output {
	#stream;
	#signal;
	#error;
	#name;

	constructor(
		stream = process.stdout,
		{ json = false, table = false, signal, name = "to standard output" } = {},
	) {
		this.#stream = stream;
		this.#signal = signal;
		this.#name = name;
		this.isTerminal = stream.isTTY === true;
		/** Whether tables are written, for people. */
		this.isText = table || (this.isTerminal && !json);
		stream.on("error", (error) => {
			this.#error ??= error;
		});
	}

	get isClosed() {
		return CLOSED.includes(this.#error?.code);
	}

	/** The width of the terminal in columns; 100 if unknown. */
	get width() {
		return this.#stream.columns || 100;
	}

	/** Waits until there is room for more, or the signal is aborted. */
	async write(data) {
		this.#check();
		const text = this.isTerminal || this.isText ? shown(String(data), this.#stream) : data;
		if (this.isClosed || this.#stream.write(text) || this.#signal?.aborted) return;
		await until(this.#signal, once(this.#stream, "drain")).catch(() => {});
		this.#check();
	}

	/** Waits until all is written; after an abort only for a while, because nobody may read. */
	async commit() {
		const stream = this.#stream;
		if (!stream.destroyed)
			await new Promise((resolve) => {
				const release = onAbort(this.#signal, () => setTimeout(resolve, GRACE_MS).unref());
				const written = () => {
					release();
					resolve();
				};
				if (stream === process.stdout) stream.write("", written);
				else stream.end(written);
			});
		this.#check();
	}

	#check() {
		if (this.#error && !this.isClosed) fail(this.#name, this.#error);
	}
}

/** Opens a named pipe for writing as soon as it has a reader. A thread that waits for one could not be interrupted. */
async function openPipe(path, { signal, table }) {
	const { Socket } = require("node:net");
	for (;;)
		try {
			const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
			return new Output(new Socket({ fd, readable: false }), { signal, table, name: path });
		} catch (error) {
			if (error.code !== "ENXIO") throw error;
			await until(signal, sleep(50));
		}
}

const PAUSE_MS = 50;

/** Waits for the lock beside a file, which the system releases when its process ends. */
async function lock(file, signal) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const path = `${file}.lock`;
	for (let isSaid = false; ; isSaid = true) {
		const taken = native.FileLock.take(path);
		if (taken) return atLast(() => taken.release());
		if (!isSaid) say(`waiting for another process, which uses ${file} (its lock is ${path})`);
		await until(signal, sleep(PAUSE_MS));
	}
}

/** Opens new contents for a file, made in `FILE.partial`, which an interrupted command may have left. */
async function openNew(path, { signal, mode, isState, goesOn }) {
	const target = await targetOf(path);
	const made = `${target}.partial`;
	claimOutput(path, target, made, `${target}.pending`);
	if (isState || goesOn) await lock(target, signal);
	if (isState) await rm(made, { force: true });
	const unfinished = goesOn ? new Unfinished(target) : undefined;
	const flags = unfinished?.size ? "a" : "wx";
	const file = await openReplacement(target, mode, { made, flags }).catch((error) => {
		if (error.code !== "EEXIST") throw error;
		throw new InputError(
			`${made} is there, from a command that was interrupted: remove it, or give it another name`,
		);
	});
	return { ...file, made, unfinished };
}

const isSame = (one, other) => one.dev === other.dev && one.ino === other.ino;

/** Whether a file is standard output, under another name. */
function isStandardOutput(found) {
	try {
		return found.ino !== 0 && isSame(found, fstatSync(1));
	} catch {
		return false;
	}
}

/**
 * Opens a file, which gets its new contents as a whole when they are complete. What an interrupted command has written stays
 * beside it, with the ending `.partial`: a command that `goesOn` continues it, others refuse. A file of a state (`isState`)
 * is of one process at a time, as is one that goes on, and has nothing to be continued.
 * @throws {InputError} if the file cannot be written at all.
 */
async function openFile(path, options) {
	const { signal, mode = 0o666, isState = false, table = false } = options;
	let target;
	try {
		const found = await stat(path).catch(() => undefined);
		if (found?.isDirectory()) throw new Error("it is a directory");
		if (found && isStandardOutput(found)) return new Output(process.stdout, { signal, table });
		if (found?.isFIFO()) return await openPipe(path, { signal, table });
		const isDevice = found && !found.isFile();
		target = isDevice ? await openReplacement(path) : await openNew(path, { ...options, mode });
	} catch (error) {
		if (error === signal?.reason || error instanceof InputError) throw error;
		throw cannot("write", path, error);
	}
	const { made, unfinished } = target;
	const failed = (error) => fail(path, error);
	let isEmpty = !unfinished?.size;
	let isCommitted = false;
	const commit = async (to) => {
		await target.commit(to);
		isCommitted = true;
	};
	atEnd(() => {
		const discard = () => target.discard();
		// What was there stays, and rows whose runs a store has.
		const isKept = unfinished?.size > 0 || (unfinished?.added.size > 0 && !isEmpty);
		return isKept && !isCommitted ? commit(made).then(discard, () => {}) : discard();
	});
	return {
		/** The file without links. */
		path: target.path,
		unfinished,
		isClosed: false,
		isTerminal: false,
		isText: table,
		width: 100,
		write(data) {
			isEmpty = false;
			return target.write(table ? shown(data, target) : data).catch(failed);
		},
		/** Resolves to the path of what is written, if any. */
		async commit() {
			const partial = signal?.aborted && !isState ? made : undefined;
			if (partial && isEmpty) return undefined;
			if (!partial) unfinished?.complete();
			await commit(partial).catch(failed);
			return partial ?? path;
		},
	};
}

const show = (output, value, textOf) =>
	output.write(output.isText ? textOf(value, output) : jsonLine(value));

module.exports = { Output, openFile, show };
