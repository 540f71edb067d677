import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as imported from "@knowledgepulse/scoring-stores/sqlite";
import { valueFrom } from "../../../../__test__/support/child.mjs";
import { adds, clear, forget, options, Reader } from "../../conformance/fixture.js";
import { HAS_SQLITE } from "../../sqlite/file.js";
import { change, DatabaseSync, temporaryFile } from "./files.mjs";

const { SqliteStore } = imported;

test("SqliteStore can be imported and required", () => {
	const required = createRequire(import.meta.url)("@knowledgepulse/scoring-stores/sqlite");
	assert.equal(required.SqliteStore, SqliteStore);
	assert.deepEqual(Object.keys(required), ["SqliteStore"]);
});

test("SqliteStore rejects unknown and wrong options", () => {
	const path = temporaryFile();
	for (const [options, message] of [
		[{}, "path: expected the path of a file, not a URI, got undefined"],
		[{ path: "" }, 'path: expected the path of a file, not a URI, got ""'],
		[{ path: ":memory:" }, 'path: expected the path of a file, not a URI, got ":memory:"'],
		[{ path: "file:x.db" }, 'path: expected the path of a file, not a URI, got "file:x.db"'],
		[{ path: "sqlite:x.db" }, 'path: expected the path of a file, not a URI, got "sqlite:x.db"'],
		[
			{ path, namespace: 42 },
			"namespace: expected a string of 1 to 200 characters without NUL or lone surrogates, got 42",
		],
		[{ path, durable: 1 }, "durable: expected true or false, got 1"],
		[
			{ path, nameSpace: "a" },
			"nameSpace: expected one of the options path, namespace, durable, got an unknown option; did you mean namespace?",
		],
	])
		assert.throws(() => new SqliteStore(options), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			message,
			path: message.split(":")[0],
		});
});

test("SqliteStore.header creates no namespace", async () => {
	const store = new SqliteStore({ path: temporaryFile() });
	const { signal } = new AbortController();
	assert.equal(await store.header({ signal }), null);
	assert.equal(await store.header({ signal }), null);
	await store.append(adds(1), { ...options(), keepFrom: null });
	assert.deepEqual(await store.header({ signal }), options().header);
	await store.close();
});

test("SqliteStore says what to install", { skip: HAS_SQLITE && "nothing" }, () => {
	const source = `
		const Module = require("node:module");
		const resolve = Module._resolveFilename;
		Module._resolveFilename = (name, ...rest) => {
			if (name === "@photostructure/sqlite") name = "./missing.js";
			return resolve(name, ...rest);
		};
		const { SqliteStore } = require("@knowledgepulse/scoring-stores/sqlite");
		try {
			new SqliteStore({ path: "x" });
		} catch ({ code, message, cause }) {
			console.log(code, message, cause.code);
		}`;
	const { stdout } = spawnSync(process.execPath, ["-e", source], {
		cwd: import.meta.dirname,
		encoding: "utf8",
	});
	assert.match(
		stdout,
		/^STORE_UNAVAILABLE .*or the package .*npm install @photostructure\/sqlite MODULE_NOT_FOUND/,
	);
});

test("SqliteStore keeps a process alive until its calls have settled, and no longer", async () => {
	const path = temporaryFile();
	const body = async ({ input: { path, call, isIdle }, send }) => {
		const { SqliteStore } = await import("@knowledgepulse/scoring-stores/sqlite");
		const store = new SqliteStore({ path });
		if (isIdle) return 0;
		const options = { ...call, keepFrom: null, signal: new AbortController().signal };
		const entry = { kind: "forget", call: crypto.randomUUID(), id: "a" };
		store.append([entry], options).then(({ head }) => send(head));
	};
	const { signal, ...call } = options();
	for (const head of [0, 1, 2]) {
		const input = { path, call, isIdle: head === 0 };
		assert.equal(await valueFrom(body, { input, preload: false }), head);
	}
});

test("SqliteStore waits for the lock off the event loop, until it is aborted", async () => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	const reader = new Reader(store);
	await reader.append(adds(1));
	const other = new DatabaseSync(path);
	other.exec("BEGIN IMMEDIATE");

	const controller = new AbortController();
	const { signal } = controller;
	const reason = new Error("enough");
	const waiting = store.append(adds(1), options({ signal, keepFrom: null }));
	let turns = 0;
	for (; turns < 100; turns++) await new Promise(setImmediate);
	// Readers do not wait for the writer.
	const another = new SqliteStore({ path });
	assert.equal((await another.read(options())).head, 1);
	controller.abort(reason);
	await assert.rejects(waiting, reason);

	const next = reader.append(adds(1));
	other.exec("COMMIT");
	assert.equal((await next).head, 2);

	// `close` ends what waits.
	other.exec("BEGIN IMMEDIATE");
	const late = store.append(adds(1), options({ keepFrom: null }));
	const rejected = assert.rejects(late, { code: "CLOSED" });
	await store.close();
	await rejected;
	other.exec("COMMIT");
	other.close();
	assert.equal((await another.read(options())).head, 2);
	await another.close();
});

test("SqliteStore deletes 16 old entries and two for each of its own, at most", async () => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	const reader = new Reader(store);
	await reader.append(adds(100));
	change(path, "UPDATE novelty_entries SET at = at - 600000");
	const oldest = () => change(path, "SELECT min(seq) AS seq FROM novelty_entries")[0].seq;
	const keepFrom = Date.now();
	await reader.append(adds(1), { keepFrom });
	assert.equal(oldest(), 19);
	await reader.append(adds(10), { keepFrom });
	assert.equal(oldest(), 55);
	await reader.append(adds(20), { keepFrom });
	assert.equal(oldest(), 101);
	await reader.append(adds(1), { keepFrom });
	assert.equal(oldest(), 101);
	await store.close();
});

test("SqliteStore deletes no young entries before one whose time is too early", async () => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	await store.append(adds(8), options({ keepFrom: null }));
	change(path, "UPDATE novelty_entries SET at = 5 WHERE seq = 4");
	await store.append(adds(1), options({ keepFrom: 1000 }));
	assert.equal(change(path, "SELECT * FROM novelty_entries").length, 9);
	await store.close();
});

test("SqliteStore overwrites what is forgotten or cleared", async () => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	const reader = new Reader(store);
	const [one, two] = adds(2);
	await reader.append([one, two]);
	const has = ({ embedding }) => {
		change(path, "PRAGMA wal_checkpoint(TRUNCATE)");
		return readFileSync(path).includes(embedding.subarray(0, 200));
	};
	assert.deepEqual([has(one), has(two)], [true, true]);
	await reader.append([forget("0")]);
	assert.deepEqual([has(one), has(two)], [false, true]);
	await reader.append([clear()]);
	assert.deepEqual([has(one), has(two)], [false, false]);
	await store.close();
});
