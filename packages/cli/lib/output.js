/** The outputs for data: standard output, and files. */
const { once } = require("node:events");
const { open, stat } = require("node:fs/promises");
const { openReplacement } = require("@knowledgepulse/scoring/internal/file");
const { atEnd, cannot } = require("./exit.js");
const { shown } = require("./terminal.js");

/** Error codes of writing to a pipe that its reader has closed; `EOF` on Windows. */
const CLOSED = ["EOF", "EPIPE"];

function fail(what, cause) {
	throw new Error(`cannot write ${what}: ${cause.message}`, { cause });
}

/** Standard output. A reader that has closed the pipe, as `head` does, is not an error. */
class Output {
	#stream;
	#error;

	constructor(stream = process.stdout, { json = false } = {}) {
		this.#stream = stream;
		this.isTerminal = stream.isTTY === true;
		/** Whether tables are written, for people. */
		this.isText = this.isTerminal && !json;
		stream.on("error", (error) => {
			this.#error ??= error;
		});
	}

	/** Standard output, or the file of `--output`. */
	static async open(options) {
		const { output } = options;
		return output === undefined ? new Output(process.stdout, options) : openFile(output);
	}

	/** Whether the reader has closed the pipe. */
	get isClosed() {
		return CLOSED.includes(this.#error?.code);
	}

	/** The width of the terminal in columns; 100 if unknown. */
	get width() {
		return this.#stream.columns || 100;
	}

	/** Waits until there is room for more. */
	async write(data) {
		this.#check();
		const text = this.isTerminal ? shown(String(data), this.#stream) : data;
		if (this.isClosed || this.#stream.write(text)) return;
		await once(this.#stream, "drain").catch(() => {});
		this.#check();
	}

	/** Waits until all is written. */
	async commit() {
		if (!this.#stream.destroyed)
			await new Promise((resolve) => this.#stream.write("", () => resolve()));
		this.#check();
	}

	#check() {
		if (this.#error && !this.isClosed) fail("to standard output", this.#error);
	}
}

/** A device or a pipe, which cannot be replaced. */
async function openDevice(path) {
	const file = await open(path, "w");
	const close = () => file.close();
	return { write: (data) => file.writeFile(data), commit: close, discard: close };
}

/**
 * Opens a file that is replaced when its contents are complete. Incomplete ones are removed at the end of the command.
 * @throws {InputError} if the file cannot be written at all.
 */
async function openFile(path, mode = 0o666) {
	let target;
	try {
		const found = await stat(path).catch(() => undefined);
		if (found?.isDirectory()) throw new Error("it is a directory");
		const isReplaced = found === undefined || found.isFile();
		target = isReplaced ? await openReplacement(path, mode) : await openDevice(path);
	} catch (error) {
		throw cannot("write", path, error);
	}
	atEnd(() => target.discard());
	const failed = (error) => fail(path, error);
	return {
		isClosed: false,
		isTerminal: false,
		isText: false,
		write: (data) => target.write(data).catch(failed),
		commit: () => target.commit().catch(failed),
	};
}

/** Writes a value as text or as a line of JSON. */
const show = (output, value, textOf) =>
	output.write(output.isText ? textOf(value, output) : `${JSON.stringify(value)}\n`);

module.exports = { Output, openFile, show };
