/** Files that are replaced as a whole. `packages/cli` uses them too. */
const { randomUUID } = require("node:crypto");
const fs = require("node:fs/promises");
const { dirname, join } = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");

/** Some file systems cannot sync a folder, and need not. */
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
 * Opens new contents for a file, with the permissions `mode`. Always call `discard` in the end. At any moment, even
 * after a crash, the file has either the old or the new contents. A symbolic link is replaced, not followed.
 */
async function openReplacement(path, mode) {
	// The name cannot be guessed, so nobody can put a link in its place.
	const temporary = join(dirname(path), `.kp-${randomUUID()}.tmp`);
	// Opened first, because the folder may be unreadable.
	const folder = process.platform === "win32" ? undefined : await fs.open(dirname(path));
	const file = await fs.open(temporary, "wx", mode).catch(async (error) => {
		await folder?.close();
		throw error;
	});
	let isCommitted = false;
	return {
		/** Appends text or bytes. */
		write: (data) => file.writeFile(data),

		/** Resolves when the file has the new contents, and they have reached the disk. */
		async commit() {
			await file.sync();
			await file.close();
			await rename(temporary, path);
			isCommitted = true;
			await folder?.sync().catch((error) => {
				if (!NEED_NOT_SYNC.includes(error.code)) throw error;
			});
		},

		/** Closes open files, and removes uncommitted contents. May be called at any time. */
		async discard() {
			await file.close();
			await folder?.close();
			if (!isCommitted) await fs.rm(temporary, { force: true });
		},
	};
}

/** Replaces the contents of a file by `bytes`. Only the owner may read it. */
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
