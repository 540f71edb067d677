import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";
import { temporaryFolder } from "../../../../__test__/support/model-folder.mjs";
import file from "../../sqlite/file.js";

const require = createRequire(import.meta.url);

/** That of the store: in one process, two libraries would undo each other's locks. */
export const { DatabaseSync } = require(file.HAS_SQLITE ? "node:sqlite" : "@photostructure/sqlite");

/** Returns a path in a folder that is removed after the tests. */
export const temporaryFile = () => join(temporaryFolder({ after }), "novelty.db");

/** Runs a statement on a file, as with SQLite's shell. */
export function change(path, sql, ...parameters) {
	const db = new DatabaseSync(path, { timeout: 5000 });
	try {
		return db.prepare(sql).all(...parameters);
	} finally {
		db.close();
	}
}
