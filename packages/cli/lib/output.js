/** Where data goes: standard output, and files. */
const { once } = require("node:events");
const { createWriteStream } = require("node:fs");
const { realpath, rename, rm, stat } = require("node:fs/promises");
const { InputError } = require("./exit.js");

/** Data for standard output. A reader that has closed the pipe, as `head` does, is no error. */
class Output {
	#stream;
	#error;

	constructor(stream = process.stdout) {
		this.#stream = stream;
		stream.on("error", (error) => {
			this.#error ??= error;
		});
	}

	/** Whether nobody reads any more. */
	get isClosed() {
		return this.#error?.code === "EPIPE";
	}

	get isTerminal() {
		return this.#stream.isTTY === true;
	}

	/** Columns of the terminal. */
	get width() {
		return this.#stream.columns ?? 100;
	}

	/** Waits until there is room for more. */
	async write(text) {
		this.#check();
		if (this.isClosed || this.#stream.write(text)) return;
		await once(this.#stream, "drain").catch(() => {});
		this.#check();
	}

	/** Waits until all is written. */
	async flush() {
		if (!this.#stream.destroyed)
			await new Promise((resolve) => this.#stream.write("", () => resolve()));
		this.#check();
	}

	#check() {
		if (this.#error && !this.isClosed)
			throw new Error(`cannot write to standard output: ${this.#error.message}`, {
				cause: this.#error,
			});
	}
}

/** A file that gets its name when it is complete, so that none is ever half written. */
class FileOutput {
	#path;
	#temporary;
	#stream;

	/** @throws {InputError} if the file cannot be written at all. */
	static async open(path) {
		try {
			const target = await realpath(path).catch(() => path);
			const found = await stat(target).catch(() => undefined);
			if (found?.isDirectory()) throw new Error("it is a directory");
			// A device or a pipe cannot be replaced.
			const isReplaced = found === undefined || found.isFile();
			const file = new FileOutput();
			file.#path = target;
			file.#temporary = isReplaced ? `${target}.${process.pid}.tmp` : undefined;
			file.#stream = createWriteStream(file.#temporary ?? target);
			await once(file.#stream, "open");
			// Errors come with each write.
			file.#stream.on("error", () => {});
			return file;
		} catch (error) {
			throw new InputError(`cannot write ${path}: ${error.message}`);
		}
	}

	async write(text) {
		await new Promise((resolve, reject) => {
			this.#stream.write(text, (error) => (error ? reject(error) : resolve()));
		}).catch((error) => this.#fail(error));
	}

	async commit() {
		try {
			this.#stream.end();
			await once(this.#stream, "close");
			if (this.#temporary) await rename(this.#temporary, this.#path);
			this.#temporary = undefined;
		} catch (error) {
			await this.#fail(error);
		}
	}

	/** Removes what was written, unless it was committed. */
	async discard() {
		this.#stream.destroy();
		if (this.#temporary) await rm(this.#temporary, { force: true });
	}

	async #fail(error) {
		await this.discard();
		throw new Error(`cannot write ${this.#path}: ${error.message}`, {
			cause: error,
		});
	}
}

module.exports = { FileOutput, Output };
