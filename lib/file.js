/** Files that are replaced as a whole. */
const { randomUUID } = require("node:crypto");
const { open, rename, rm } = require("node:fs/promises");
const { dirname, join } = require("node:path");

/** Not every file system can sync a folder; one that cannot need not. */
const NEED_NOT_SYNC = ["EINVAL", "ENOTSUP", "EPERM"];

/**
 * Puts `bytes` into a file, in place of what it contained. Only the owner may read it.
 *
 * At any instant, and after a failure or a crash, the file has all of the old contents or all of the
 * new. When the promise resolves, the new ones have reached the disk. A symbolic link is replaced, not
 * followed.
 */
exports.replaceFile = async function replaceFile(path, bytes) {
	const temporary = join(dirname(path), `.kp-snapshot-${randomUUID()}.tmp`);
	// Opened while nothing has happened yet, because a folder need not be readable.
	const folder = process.platform === "win32" ? undefined : await open(dirname(path));
	try {
		const file = await open(temporary, "wx", 0o600);
		try {
			await file.writeFile(bytes);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(temporary, path);
		await folder?.sync().catch((error) => {
			if (!NEED_NOT_SYNC.includes(error.code)) throw error;
		});
	} catch (error) {
		await rm(temporary, { force: true });
		throw error;
	} finally {
		await folder?.close();
	}
};
