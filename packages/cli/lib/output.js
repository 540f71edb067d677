/** The outputs for data: standard output, and files. */
const { once } = require("node:events");
const { constants, lstatSync, openSync } = require("node:fs");
const { stat, writeFile } = require("node:fs/promises");
const { setTimeout: sleep } = require("node:timers/promises");
const { openReplacement, targetOf } = require("@knowledgepulse/scoring/internal/file");
const { onAbort, until } = require("@knowledgepulse/scoring/internal/signals");
const { claimOutput, isStandardOutput } = require("./claims.js");
const { GRACE_MS, InputError, atEnd, atLast, cannot, causeOf } = require("./exit.js");
const { jsonLine, say, shown, warn } = require("./terminal.js");

/** Error codes of writing to a pipe that its reader has closed; `EOF` on Windows. */
const CLOSED = ["EOF", "EPIPE"];

function fail(what, cause, kept = "") {
	throw new Error(`cannot write ${what}: ${causeOf(cause)}${kept}`, { cause });
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

/** Neither a link is followed nor a pipe waited for. Windows has no such flags. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

/** Waits for the lock beside a file, which the system releases when its process ends. */
async function lock(file, signal) {
	const { native } = require("@knowledgepulse/scoring/internal/native");
	const path = `${file}.lock`;
	for (let isSaid = false; ; isSaid = true) {
		const taken = native.FileLock.take(path, O_NOFOLLOW | O_NONBLOCK);
		if (taken?.isHeld === false)
			warn(`the file system has no locks: no other process must write ${file} meanwhile`);
		if (taken) return atLast(() => taken.release());
		if (!isSaid) say(`waiting for another process, which uses ${file} (its lock is ${path})`);
		await until(signal, sleep(PAUSE_MS));
	}
}

/** Opens new contents for a file, of which an interrupted command leaves the `part` so far, if that is given. */
async function openWhole(target, mode, part) {
	if (part && lstatSync(part, { throwIfNoEntry: false }))
		throw new InputError(
			`${part} is there, from a command that was interrupted: remove it, or give it another name`,
		);
	// Tried before anything is done, and opened when it is written: a command that is killed before leaves nothing.
	await (await openReplacement(target, mode)).discard();
	let opening;
	const file = () => {
		opening ??= openReplacement(target, mode);
		return opening;
	};
	return {
		path: target,
		write: async (data) => (await file()).write(data),
		async commit(isInterrupted) {
			// Reserves the name, so that it replaces nothing else.
			if (isInterrupted) await writeFile(part, "", { flag: "wx" });
			await (await file()).commit(isInterrupted ? part : undefined);
		},
		discard: async () => (await opening)?.discard(),
	};
}

/**
 * Opens a file, which gets its new contents as a whole when they are complete. What an interrupted command has written is
 * left beside it, with the ending `.partial`, if the command `hasPart`. `journal` opens what can be gone on from, for the real
 * path and the mode. Such a file, and that of a state (`isState`), is of one process at a time.
 * @throws {InputError} if the file cannot be written at all.
 */
async function openFile(path, options) {
	const {
		signal,
		mode = 0o666,
		isState = false,
		hasPart = !isState,
		table = false,
		journal,
	} = options;
	let found;
	let part;
	let contents;
	try {
		found = await stat(path).catch(() => undefined);
		if (found?.isDirectory()) throw new Error("it is a directory");
		if (isStandardOutput(path)) return new Output(process.stdout, { signal, table });
		if (found?.isFIFO()) return await openPipe(path, { signal, table });
		if (found && !found.isFile()) contents = await openReplacement(path);
		else {
			const target = await targetOf(path);
			part = `${target}.partial`;
			claimOutput(path, target, part, `${target}.lock`);
			if (isState || journal) await lock(target, signal);
			contents = journal
				? journal(target, found ? found.mode & 0o777 : mode)
				: await openWhole(target, mode, hasPart ? part : undefined);
		}
	} catch (error) {
		if (error === signal?.reason || error instanceof InputError) throw error;
		throw cannot("write", path, error);
	}
	atEnd(() => contents.discard());
	const unfinished = journal && part ? contents : undefined;
	const canPart = hasPart && part !== undefined;
	let isEmpty = true;
	return {
		/** The file without links. */
		path: contents.path,
		/** Whether there is an earlier one with contents. */
		isThere: found?.size > 0,
		unfinished,
		isClosed: false,
		isTerminal: false,
		isText: table,
		width: 100,
		write(data) {
			isEmpty = false;
			return contents.write(table ? shown(data, {}) : data).catch((error) => fail(path, error));
		},
		/**
		 * Resolves to the path of what is written, if any. Nothing does not take the place of an earlier result, unless
		 * it `isResult` itself.
		 */
		async commit(isResult = false) {
			const isInterrupted = canPart && signal?.aborted === true;
			const isNothing = isEmpty && !unfinished?.rows && !isResult;
			if (isNothing && isInterrupted) return undefined;
			if (isNothing && found?.size > 0) {
				warn(`nothing to write: ${path} stays as it was`);
				return undefined;
			}
			try {
				await contents.commit(isInterrupted);
			} catch (error) {
				if (!canPart || isInterrupted) fail(path, error);
				await contents.commit(true).catch(() => fail(path, error));
				fail(path, error, `; ${part} has what was to be written`);
			}
			return isInterrupted ? part : path;
		},
	};
}

/** Writes a value. Resolves to whether it was not there yet, from an interrupted command. */
async function show(output, value, textOf) {
	if (output.unfinished?.passes(value)) return false;
	await output.write(output.isText ? textOf(value, output) : jsonLine(value));
	return true;
}

module.exports = { Output, openFile, show };
