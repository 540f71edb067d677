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

/**
 * Opens new contents for a file, with the permissions `mode`. Call `discard` in the end in any case.
 *
 * At any instant, and after a failure or a crash, the file has all of the old contents or all of the
 * new. A symbolic link is replaced, not followed.
 */
async function openReplacement(path, mode) {
	// The name cannot be guessed, so nobody can put a link in its place.
	const temporary = join(dirname(path), `.kp-${randomUUID()}.tmp`);
	// Opened while nothing has happened yet, because a folder need not be readable.
	const folder = process.platform === "win32" ? undefined : await fs.open(dirname(path));
	const file = await fs.open(temporary, "wx", mode).catch(async (error) => {
		await folder?.close();
		throw error;
	});
	let isCommitted = false;
	return {
		/** Appends text or bytes. */
		write: (data) => file.writeFile(data),

		/** Resolves when the new contents have reached the disk, and the file has them. */
		async commit() {
			await file.sync();
			await file.close();
			await rename(temporary, path);
			isCommitted = true;
			await folder?.sync().catch((error) => {
				if (!NEED_NOT_SYNC.includes(error.code)) throw error;
			});
		},

		/** Closes all that is open, and removes what was not committed. May be called at any time. */
		async discard() {
			await file.close();
			await folder?.close();
			if (!isCommitted) await fs.rm(temporary, { force: true });
		},
	};
}

/** Puts `bytes` into a file, in place of what it contained. Only the owner may read it. */
async function replaceFile(path, bytes) {
	const file = await openReplacement(path, 0o600);
	try {
		await file.write(bytes);
		await file.commit();
	} finally {
		await file.discard();
	}
}

module.exports = { openReplacement, replaceFile };
