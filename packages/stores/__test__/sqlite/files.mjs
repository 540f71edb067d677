import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";

/** Returns a path in a folder that is removed after the tests. */
export function temporaryFile(name = "novelty.db") {
	const folder = mkdtempSync(join(tmpdir(), "novelty-"));
	after(() => rmSync(folder, { recursive: true, force: true }));
	return join(folder, name);
}

/** Runs a statement on a file, as somebody with SQLite's shell would. */
export function change(path, sql, ...parameters) {
	const db = new DatabaseSync(path, { timeout: 5000 });
	try {
		return db.prepare(sql).all(...parameters);
	} finally {
		db.close();
	}
}
