import { join } from "node:path";
import { after } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { temporaryFolder } from "../../../../__test__/support/model-folder.mjs";

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
