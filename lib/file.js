/** Files that are replaced as a whole. `packages/cli` uses them too. */
const { randomUUID } = require("node:crypto");
const fs = require("node:fs/promises");
const { dirname, join } = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");

/** Not every file system can sync a folder; one that cannot need not. */
const NEED_NOT_SYNC = ["EINVAL", "ENOTSUP", "EPERM"];

/** Error codes of a rename on Windows while another program, such as a virus scanner, has the file open. */
const IN_USE = ["EACCES", "EBUSY", "EPERM"];

/** Pauses between attempts to rename, about a second in total. */
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 400];

async function rename(from, to) {
	for (const pause of process.platform === "win32" ? PAUSES_MS : [])
		try {
			return await fs.rename(from, to);
		} catch (error) {
			if (!IN_USE.includes(error.code)) throw error;
			await sleep(pause);
		}
	await fs.rename(from, to);
}

/** The new contents of a file, which it gets with `commit`. */
class Replacement {
	#path;
	#temporary;
	#file;
	#folder;
	#isCommitted = false;

	static async open(path, mode) {
		const replacement = new Replacement();
		replacement.#path = path;
		// The name cannot be guessed, so nobody can put a link in its place.
		replacement.#temporary = join(dirname(path), `.kp-${randomUUID()}.tmp`);
		// Opened while nothing has happened yet, because a folder need not be readable.
		if (process.platform !== "win32") replacement.#folder = await fs.open(dirname(path));
		try {
			replacement.#file = await fs.open(replacement.#temporary, "wx", mode);
		} catch (error) {
			await replacement.#folder?.close();
			throw error;
		}
		return replacement;
	}

	/** Appends text or bytes. */
	write(data) {
		return this.#file.writeFile(data);
	}

	/** Resolves when the new contents have reached the disk, and the file has them. */
	async commit() {
		await this.#file.sync();
		await this.#file.close();
		await rename(this.#temporary, this.#path);
		this.#isCommitted = true;
		await this.#folder?.sync().catch((error) => {
			if (!NEED_NOT_SYNC.includes(error.code)) throw error;
		});
	}

	/** Closes all that is open, and removes what was not committed. May be called at any time. */
	async discard() {
		await this.#file.close();
		await this.#folder?.close();
		if (!this.#isCommitted) await fs.rm(this.#temporary, { force: true });
	}
}

/**
 * Opens new contents for a file, with the permissions `mode`. Call `discard` in the end in any case.
 *
 * At any instant, and after a failure or a crash, the file has all of the old contents or all of the
 * new. A symbolic link is replaced, not followed.
 */
exports.openReplacement = Replacement.open;

/** Puts `bytes` into a file, in place of what it contained. Only the owner may read it. */
exports.replaceFile = async function replaceFile(path, bytes) {
	const file = await Replacement.open(path, 0o600);
	try {
		await file.write(bytes);
		await file.commit();
	} finally {
		await file.discard();
	}
};
