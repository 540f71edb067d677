/** The outputs for data: standard output, and files. */
const { once } = require("node:events");
const { constants, fstatSync, openSync } = require("node:fs");
const { stat } = require("node:fs/promises");
const { setTimeout: sleep } = require("node:timers/promises");
const { onAbort, until } = require("@knowledgepulse/scoring/internal/signals");
const { claimOutput } = require("./claims.js");
const { GRACE_MS, InputError, atEnd, cannot, causeOf } = require("./exit.js");
const { shown } = require("./terminal.js");

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

/** Opens new contents for a file that the command does not read or write under another name. */
async function openNew(path, mode) {
	const { openReplacement } = require("@knowledgepulse/scoring/internal/file");
	const target = await openReplacement(path, mode);
	atEnd(() => target.discard());
	if (target.path) claimOutput(path, target.path, `${target.path}.partial`);
	return target;
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
 * Opens a file, which gets its new contents as a whole when they are complete. What an interrupted command has written is
 * put beside it, with the ending `.partial`.
 * @throws {InputError} if the file cannot be written at all.
 */
async function openFile(path, { signal, mode = 0o666, table = false }) {
	let target;
	try {
		const found = await stat(path).catch(() => undefined);
		if (found?.isDirectory()) throw new Error("it is a directory");
		if (found && isStandardOutput(found)) return new Output(process.stdout, { signal, table });
		if (found?.isFIFO()) return await openPipe(path, { signal, table });
		target = await openNew(path, mode);
	} catch (error) {
		if (error === signal?.reason || error instanceof InputError) throw error;
		throw cannot("write", path, error);
	}
	const failed = (error) => fail(path, error);
	let isEmpty = true;
	return {
		/** The file without links. */
		path: target.path,
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
			const isPartial = signal?.aborted && target.path !== undefined;
			const partial = isPartial ? `${target.path}.partial` : undefined;
			if (partial && isEmpty) return undefined;
			await target.commit(partial).catch(failed);
			return partial ?? path;
		},
	};
}

const show = (output, value, textOf) =>
	output.write(output.isText ? textOf(value, output) : `${JSON.stringify(value)}\n`);

module.exports = { Output, openFile, show };
