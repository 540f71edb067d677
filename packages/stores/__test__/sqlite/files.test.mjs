import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ScoringError } from "@knowledgepulse/scoring";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { options, Reader } from "../../conformance/fixture.js";
import { adds } from "../../conformance/samples.js";
import { openFile } from "../../sqlite/file.js";
import { change, temporaryFile } from "./files.mjs";

/** Checks that a call on a file rejects with a code and a message that names the file. */
async function assertRejects(path, code, message, cause) {
	const store = new SqliteStore({ path });
	const calls = [store.read(options()), store.append(adds(1), options({ keepFrom: null }))];
	const isExpected = (error) => {
		assert.ok(error instanceof ScoringError);
		assert.deepEqual([error.code, error.path], [code, path]);
		assert.ok(error.message.startsWith(`${path}: `), error.message);
		assert.match(error.message, message);
		assert.equal(error.cause?.code, cause);
		return true;
	};
	await Promise.all(calls.map((call) => assert.rejects(call, isExpected)));
	await store.close();
}

/** Returns the path of a store with entries. */
async function fileWith(count) {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	await new Reader(store).append(adds(count));
	await store.close();
	return path;
}

test("SqliteStore names the file that cannot be opened", async () => {
	const path = temporaryFile();
	const missing = join(path, "folder", "novelty.db");
	await assertRejects(missing, "STORE_UNAVAILABLE", /there is no folder/, "SQLITE_CANTOPEN");
	mkdirSync(path);
	await assertRejects(path, "STORE_UNAVAILABLE", /unable to open/, "SQLITE_CANTOPEN");
});

test("SqliteStore refuses files that are not stores", async () => {
	const text = temporaryFile();
	writeFileSync(text, "To be, or not to be. ".repeat(100));
	await assertRejects(text, "INVALID_STORE", /not a database/, "SQLITE_NOTADB");

	for (const sql of [
		"CREATE TABLE users (name TEXT)",
		"PRAGMA user_version = 1",
		"PRAGMA application_id = 1",
	]) {
		const path = temporaryFile();
		change(path, sql);
		const before = readFileSync(path);
		await assertRejects(path, "STORE_MISMATCH", /another application/);
		assert.deepEqual(readFileSync(path), before);
	}

	const newer = await fileWith(1);
	change(newer, "PRAGMA user_version = 2");
	await assertRejects(newer, "STORE_MISMATCH", /schema 2/);
});

test("SqliteStore waits on macOS until the drive has written synced data", async () => {
	const path = temporaryFile();
	// A new file, and an existing one.
	for (let turn = 0; turn < 2; turn++) {
		const db = openFile(path);
		assert.deepEqual({ ...db.prepare("PRAGMA fullfsync").get() }, { fullfsync: 1 });
		db.close();
	}
});

test("SqliteStore reports damage", async () => {
	for (const [sql, message] of [
		["DELETE FROM novelty_entries WHERE seq < 4", /entry 1 is missing/],
		["DELETE FROM novelty_entries WHERE seq = 4", /entry 4 is missing/],
		["DELETE FROM novelty_entries WHERE seq > 7", /entry 10 is missing/],
		["DELETE FROM novelty_entries", /entry 10 is missing/],
	]) {
		const path = await fileWith(10);
		change(path, sql);
		await assertRejects(path, "INVALID_STORE", message);
	}

	const path = await fileWith(100);
	const bytes = readFileSync(path);
	// All except the pages of the schema.
	bytes.fill(0xff, 8192 * 6);
	writeFileSync(path, bytes);
	await assertRejects(path, "INVALID_STORE", /malformed/, "SQLITE_CORRUPT");
});

test("SqliteStore works again after a damaged file was replaced", async () => {
	const good = await fileWith(3);
	const path = temporaryFile();
	writeFileSync(path, "no database".repeat(100));
	const store = new SqliteStore({ path });
	await assert.rejects(store.read(options()), { code: "INVALID_STORE" });
	writeFileSync(path, readFileSync(good));
	const { head } = await store.read(options());
	assert.equal(head, 3);
	await store.close();
});
