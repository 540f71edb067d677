/** Files that get new contents as a whole. `packages/cli` uses them too. */
const { randomUUID } = require("node:crypto");
const fs = require("node:fs/promises");
const { dirname, join, resolve } = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");

/** Error codes of what a file system, or Node.js with `--permission`, does not offer. */
const NOT_OFFERED = ["EACCES", "EINVAL", "ENOSYS", "ENOTSUP", "EPERM", "ERR_ACCESS_DENIED"];

/** Waits for what the contents do not need: their sync, and the permissions and owner of the file. */
const ifOffered = (done) =>
	done.catch((error) => {
		if (!NOT_OFFERED.includes(error.code)) throw error;
	});

/** Error codes of a rename on Windows while another program, such as a virus scanner, has the file open. */
const IN_USE = ["EACCES", "EBUSY", "EPERM"];

/** Pauses between attempts to rename, about a second in total. */
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 400];

/** The maximum number of links in a path, as in Linux. */
const MAX_LINKS = 40;

async function rename(from, to) {
	for (const pause of process.platform === "win32" ? PAUSES_MS : [])
		try {
			return await fs.rename(from, to);
		} catch (error) {
			if (!IN_USE.includes(error.code)) throw error;
			await sleep(pause);
		}
	try {
		await fs.rename(from, to);
	} catch (error) {
		if (error.code !== "EBUSY" || process.platform === "win32") throw error;
		// A file that is mounted, as in a container, can be written but not replaced.
		await fs.copyFile(from, to);
		await fs.rm(from);
	}
}

/** Returns the path of the file that a path names through links, which need not exist. */
async function targetOf(path, links = 0) {
	// The kernel resolves what exists, because some links, such as those of /proc, only look like paths.
	const found = await fs.realpath(path).catch(() => undefined);
	const link = found === undefined && (await fs.readlink(path).catch(() => undefined));
	if (!link || links === MAX_LINKS) return found ?? path;
	return targetOf(resolve(dirname(path), link), links + 1);
}

/** A device or a pipe, which cannot be replaced. */
async function openInPlace(path) {
	const file = await fs.open(path, "w");
	const close = () => file.close();
	return { write: (data) => file.writeFile(data), commit: close, discard: close };
}

/**
 * Opens new contents for a file; a new file gets the permissions `mode`. Always call `discard` in the end. At any moment,
 * even after a crash, the file has either the old or the new contents. Links are followed; a file keeps, if possible, its
 * permissions and its owner, and never gets more permissions. Devices and pipes are written in place. Until they are
 * complete, the contents are under a name that nobody else can guess.
 */
async function openReplacement(path, mode) {
	const found = await fs.stat(path).catch(() => undefined);
	const target = await targetOf(path);
	if (found && !found.isFile() && !found.isDirectory()) return openInPlace(path);
	const temporary = join(dirname(target), `.kp-${randomUUID()}.tmp`);
	// Opened first, because the folder may be missing.
	const folder =
		process.platform === "win32" ? undefined : await ifOffered(fs.open(dirname(target)));
	const file = await fs
		.open(temporary, "wx", found ? found.mode & 0o777 : mode)
		.catch(async (error) => {
			await folder?.close();
			throw error;
		});
	let isSynced = false;
	let isCommitted = false;
	return {
		/** The file without links; undefined if it is written in place. */
		path: target,

		write: (data) => file.writeFile(data),

		/**
		 * Resolves when the file, or the one at `to` beside it, has the new contents, and they have reached the disk. If the
		 * file cannot be replaced, another place may be tried.
		 */
		async commit(to = target) {
			if (!isSynced) {
				if (found && to === target) {
					await ifOffered(file.chown(found.uid, found.gid));
					await ifOffered(file.chmod(found.mode & 0o7777));
				}
				await ifOffered(file.sync());
				isSynced = true;
			}
			await file.close();
			await rename(temporary, to);
			isCommitted = true;
			if (folder) await ifOffered(folder.sync());
		},

		/** Closes open files, and removes uncommitted contents. May be called at any time. */
		async discard() {
			await file.close();
			await folder?.close();
			if (!isCommitted) await fs.rm(temporary, { force: true });
		},
	};
}

/** Replaces the contents of a file by `bytes`. Only the owner may read a new file. */
async function replaceFile(path, bytes) {
	const file = await openReplacement(path, 0o600);
	try {
		await file.write(bytes);
		await file.commit();
	} finally {
		await file.discard();
	}
}

module.exports = { openReplacement, replaceFile, targetOf };
