/** A temporary file of JSON values that may not fit into memory, read again by their places. */
const { randomUUID } = require("node:crypto");
const { open, rm } = require("node:fs/promises");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { atEnd, cannot } = require("./exit.js");

class Spool {
	#file;
	#path;
	#end = 0;

	/** Opens a file that only this process can read, and that is removed when the command ends. */
	static async open() {
		const spool = new Spool();
		const path = join(tmpdir(), `kp-score-${randomUUID()}`);
		spool.#path = path;
		spool.#file = await open(path, "wx+", 0o600).catch((error) => {
			throw cannot("write", path, error);
		});
		atEnd(() => spool.#file.close());
		// Whatever ends the process, nothing is left. Windows keeps the file until it is closed.
		await rm(path, { force: true }).catch(() => atEnd(() => rm(path, { force: true })));
		return spool;
	}

	/** Resolves to the place of the value. */
	async add(value) {
		const bytes = Buffer.from(JSON.stringify(value));
		const place = { start: this.#end, length: bytes.length };
		this.#end += bytes.length;
		await this.#file.appendFile(bytes).catch((error) => {
			throw cannot("write", this.#path, error);
		});
		return place;
	}

	async get({ start, length }) {
		const { buffer } = await this.#file.read(Buffer.allocUnsafe(length), 0, length, start);
		return JSON.parse(buffer.toString());
	}
}

module.exports = { Spool };
