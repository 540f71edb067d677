import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ScoringError } from "@knowledgepulse/scoring";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { add, adds, forget, options, Reader } from "../../conformance/fixture.js";
import { describe, openFile } from "../../sqlite/file.js";
import { change, temporaryFile } from "./files.mjs";

/** Checks that a call on a file rejects with a code and a message that names the file. */
async function assertRejects(path, code, message, cause) {
	const store = new SqliteStore({ path });
	const calls = [store.read(options()), store.append(adds(1), options({ keepFrom: null }))];
	const isExpected = (error) => {
		assert.ok(error instanceof ScoringError);
		assert.deepEqual([error.code, error.path], [code, path], error.message);
		assert.ok(error.message.startsWith(`${path}: `), error.message);
		assert.match(error.message, message);
		assert.equal(error.cause?.errcode ?? error.cause?.code, cause);
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
	await assertRejects(missing, "STORE_UNAVAILABLE", /there is no folder/, 14);
	mkdirSync(path);
	await assertRejects(path, "STORE_UNAVAILABLE", /unable to open/, 14);
	if (process.platform === "win32") return;
	const parts = [200, 200, 150].map((length) => "d".repeat(length));
	const long = join(dirname(path), ...parts, "novelty.db");
	mkdirSync(dirname(long), { recursive: true });
	const message = new RegExp(
		`its path has ${Buffer.byteLength(long)} bytes, expected at most 504$`,
	);
	await assertRejects(long, "STORE_UNAVAILABLE", message, 14);
});

test("SqliteStore says that a file system without shared memory is not a local disk", () => {
	// SQLITE_IOERR_SHMOPEN, _SHMSIZE, _SHMLOCK and _SHMMAP, which no file system of this machine gives.
	for (const errcode of [4618, 4874, 5130, 5386]) {
		const { code, message } = describe("novelty.db", { errcode, message: "disk I/O error" });
		const expected = "disk I/O error: write-ahead mode needs a local disk";
		assert.deepEqual([code, message], ["STORE_UNAVAILABLE", expected]);
	}
});

test("SqliteStore refuses files that are not stores", async () => {
	const text = temporaryFile();
	writeFileSync(text, "To be, or not to be. ".repeat(100));
	await assertRejects(text, "INVALID_STORE", /not a database/, 26);

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

	const dumped = await fileWith(1);
	const left = ["PRAGMA application_id = 0", "PRAGMA user_version = 0"];
	for (const sql of left) change(dumped, sql);
	const store = new SqliteStore({ path: dumped });
	const { message } = await store.read(options()).catch((error) => error);
	assert.match(message, /the file lacks what a dump leaves out: PRAGMA/);
	for (const sql of message.match(/PRAGMA [^;]*/g)) change(dumped, sql);
	assert.equal((await store.read(options())).head, 1);
	await store.close();

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
	const path = await fileWith(100);
	const bytes = readFileSync(path);
	// All except the pages of the schema.
	bytes.fill(0xff, 8192 * 6);
	writeFileSync(path, bytes);
	await assertRejects(path, "INVALID_STORE", /malformed/, 11);
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

test("SqliteStore refuses objects that are not its own, and lets no trigger or view run", async () => {
	const endless =
		"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
	for (const [sql, name] of [
		[
			`CREATE TRIGGER hold BEFORE UPDATE ON novelty_head BEGIN ${endless}; END`,
			"has a foreign trigger hold",
		],
		[`CREATE VIEW other AS ${endless}`, "has a foreign view other"],
		["CREATE TABLE other (x)", "has a foreign table other"],
		["ALTER TABLE novelty_head ADD COLUMN x INT", "has a foreign table novelty_head"],
		["DROP INDEX novelty_entries_id", "lacks its index novelty_entries_id"],
	]) {
		const path = await fileWith(1);
		change(path, sql);
		await assertRejects(path, "INVALID_STORE", new RegExp(`the store ${name}$`));
	}

	// While it is open.
	for (const changes of [
		[`CREATE TRIGGER hold BEFORE UPDATE ON novelty_head BEGIN ${endless}; END`],
		["ALTER TABLE novelty_head RENAME TO other", `CREATE VIEW novelty_head AS ${endless}`],
	]) {
		const path = await fileWith(1);
		const store = new SqliteStore({ path });
		await store.read(options());
		for (const sql of changes) change(path, sql);
		const appended = store.append(adds(1), options({ keepFrom: null }));
		await assert.rejects(appended, { code: "INVALID_STORE" });
		await store.close();
	}
});

test("SqliteStore takes a file that was analysed and vacuumed", async () => {
	const path = await fileWith(3);
	for (const sql of ["ANALYZE", "VACUUM"]) change(path, sql);
	const store = new SqliteStore({ path });
	assert.equal((await store.read(options())).head, 3);
	await store.close();
});

test("SqliteStore rejects numbers that are not safe with INVALID_STORE", async () => {
	for (const [sql, message, cause] of [
		["UPDATE novelty_head SET seq = 9007199254740993", /too large/, "ERR_OUT_OF_RANGE"],
		["UPDATE novelty_head SET first = -9007199254740993", /too large/, "ERR_OUT_OF_RANGE"],
		[
			"UPDATE novelty_entries SET seq = 9007199254740993 WHERE seq = 3",
			/too large/,
			"ERR_OUT_OF_RANGE",
		],
	]) {
		const path = await fileWith(3);
		change(path, sql);
		await assertRejects(path, "INVALID_STORE", message, cause);
	}
});

test("SqliteStore reads entries beyond its head", async () => {
	const path = await fileWith(3);
	change(path, "UPDATE novelty_head SET seq = 1");
	const store = new SqliteStore({ path });
	const { head, entries } = await store.append(adds(1), options({ keepFrom: null }));
	assert.deepEqual([head, entries.length], [4, 4]);
	await store.close();
});

test("SqliteStore refuses ids that are too long, and replaces those that others have written", async () => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	const call = options({ keepFrom: null });
	await assert.rejects(store.append([add("a"), forget("x".repeat(1025))], call), {
		name: "ScoringError",
		code: "INVALID_OPTION",
		message: "entries[1].id: expected at most 1024 bytes, got 1025",
	});
	await store.append([add("a"), forget("b"), add("日".repeat(341))], call);
	change(path, "UPDATE novelty_entries SET id = zeroblob(10000000) WHERE seq < 3");
	const { entries } = await store.read(options());
	assert.equal(entries[0].id, null);
	assert.equal(entries[1].id, null);
	assert.equal(entries[2].id.length, 341);
	await store.append([forget("a")], call);
	await store.close();
});

test("SqliteStore names a file or a folder that is not writable", async (t) => {
	if (!process.getuid) return t.skip("no permissions");
	const path = await fileWith(1);
	const folder = dirname(path);
	const { signal, ...call } = options();
	const source = `
		const { SqliteStore } = require("@knowledgepulse/scoring-stores/sqlite");
		const { path, call } = JSON.parse(process.argv[1]);
		const store = new SqliteStore({ path });
		const { signal } = new AbortController();
		store.append([], { ...call, signal, keepFrom: null }).catch(({ code, message }) => {
			console.log(code, message);
		}).then(() => store.close());`;
	// Not as root, which may write anything.
	const user = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {};
	if (spawnSync(process.execPath, ["-v"], user).error) return t.skip("no Node.js for this user");
	const read = (path) =>
		spawnSync(process.execPath, ["-e", source, JSON.stringify({ path, call })], {
			cwd: import.meta.dirname,
			encoding: "utf8",
			...user,
		}).stdout;
	chmodSync(folder, 0o555);
	chmodSync(path, 0o666);
	const one = read(path);
	assert.match(one, /^STORE_UNAVAILABLE /);
	assert.ok(one.endsWith(`: the folder ${folder} is not writable (EACCES)\n`), one);
	const other = read(join(folder, "new.db"));
	assert.ok(other.endsWith(`: the folder ${folder} is not writable (EACCES)\n`), other);
	chmodSync(folder, 0o777);
	chmodSync(path, 0o444);
	const third = read(path);
	assert.ok(third.endsWith(`: the file ${path} is not writable (EACCES)\n`), third);
	chmodSync(path, 0o666);
	for (const end of ["-wal", "-shm"]) {
		for (const other of ["-wal", "-shm"]) rmSync(path + other, { force: true });
		writeFileSync(path + end, "", { mode: 0o444 });
		const fourth = read(path);
		assert.ok(fourth.endsWith(`: the file ${path}${end} is not writable (EACCES)\n`), fourth);
	}
});

/** Tries until the store is available, as a scorer does. */
async function tried(call) {
	for (let attempt = 0; ; attempt++)
		try {
			return await call();
		} catch (error) {
			if (error.code !== "STORE_UNAVAILABLE" || attempt === 50) throw error;
			await sleep(100);
		}
}

test("SqliteStore begins anew in the place of a file that was deleted or replaced while it was open", async () => {
	const aside = await fileWith(5);
	const removeAll = (path) => {
		for (const end of ["", "-wal", "-shm"]) rmSync(path + end);
	};
	for (const remove of [
		(path) => rmSync(path),
		removeAll,
		(path) => {
			removeAll(path);
			renameSync(aside, path);
		},
		(path) => rmSync(dirname(path), { recursive: true }),
	]) {
		const path = await fileWith(3);
		const [one, other] = [new SqliteStore({ path }), new SqliteStore({ path })];
		const { epoch } = await one.append(adds(1), options({ keepFrom: null }));
		remove(path);
		mkdirSync(dirname(path), { recursive: true });
		// Of the first process that opens it anew, and of one that has it open.
		const head = existsSync(path) ? 6 : 1;
		const page = await tried(() => other.append(adds(1), options({ keepFrom: null })));
		assert.equal(page.head, head);
		assert.notEqual(page.epoch, epoch);
		const next = await one.append(adds(1), options({ keepFrom: null }));
		assert.deepEqual(
			[next.epoch, next.head, next.entries.length],
			[page.epoch, head + 1, head + 1],
		);
		await Promise.all([one.close(), other.close()]);
		assert.equal(change(path, "PRAGMA integrity_check")[0].integrity_check, "ok");
		const again = new SqliteStore({ path });
		assert.equal((await again.read(options())).head, head + 1);
		await again.close();
	}
});
