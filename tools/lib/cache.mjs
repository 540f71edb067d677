/** A folder shared by the checkouts of a user, with tools downloaded or built once. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

const NAME = "knowledgepulse-scoring";

/** The shared folder. */
export function cacheFolder() {
	const { KNOWLEDGEPULSE_CACHE, LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
	if (KNOWLEDGEPULSE_CACHE) return resolve(KNOWLEDGEPULSE_CACHE);
	if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, NAME);
	if (process.platform === "darwin") return join(homedir(), "Library", "Caches", NAME);
	if (process.platform === "win32" && LOCALAPPDATA) return join(LOCALAPPDATA, NAME, "Cache");
	return join(homedir(), ".cache", NAME);
}

/**
 * Returns the shared folder `name`. If it is missing, `fill` gets an empty folder, which becomes the
 * shared one when complete.
 */
export function once(name, fill) {
	const folder = join(cacheFolder(), name);
	if (existsSync(folder)) return folder;
	mkdirSync(dirname(folder), { recursive: true });
	const unfinished = mkdtempSync(`${folder}.`);
	const remove = () => rmSync(unfinished, { recursive: true, force: true });
	// `fail` ends the process without running `finally`.
	process.once("exit", remove);
	try {
		fill(unfinished);
		// Another process may have been faster.
		if (!existsSync(folder)) renameSync(unfinished, folder);
	} finally {
		remove();
		process.off("exit", remove);
	}
	return folder;
}

/** The digest of a file. */
export const digest = (algorithm, file, encoding) =>
	createHash(algorithm).update(readFileSync(file)).digest(encoding);

/** The first digits of the digest of files, to name a folder by. */
export function fingerprint(...files) {
	const hash = createHash("sha256");
	for (const file of files) hash.update(readFileSync(file));
	return hash.digest("hex").slice(0, 16);
}
