import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { missing, startPostgres } from "../../stores/__test__/support/postgres.mjs";
import { assertEnds, file, folder, linesOf, rowsOf, traceOf } from "./support.mjs";

const require = createRequire(import.meta.url);
const { SqliteStore } = require("@knowledgepulse/scoring-stores/sqlite");

file("runs.jsonl", linesOf([1, 2, 3].map((n) => traceOf(n))));

const WORDS = ["--novelty", "words"];

/** What an action of `kp-score store` answers. */
const answered = async (store, ...args) =>
	(await rowsOf(["store", ...args, ...(store ? ["--store", store] : [])]))[0];

/** Makes, fills, shows and cleans the namespace `support` of a store. */
async function administer(place, more) {
	const store = `${place}${more}namespace=support`;
	const made = await answered(store, "init", "--max-elements", "100000", ...WORDS);
	const header = { namespace: "support", model: "words 2", maxElements: 100_000, ttlMs: null };
	assert.deepEqual(made, { ...header, entries: 0, bytes: 0, oldest: null, newest: null });
	const scored = ["runs.jsonl", ...WORDS, "--store", store];
	assert.equal((await rowsOf(["score", ...scored])).length, 3);
	const explained = await rowsOf(["explain", ...scored]);
	assert.deepEqual(
		explained.map(({ report }) => report.novelty.source),
		["empty-cache", "cache", "cache"],
	);
	const { oldest, newest, bytes, ...found } = await answered(store, "status");
	assert.deepEqual(found, { ...header, entries: 3 });
	assert.ok(bytes > 0 && bytes % 3 === 0 && Date.parse(oldest) <= Date.parse(newest));
	// Other bounds are refused, the same ones are not.
	const other = ["store", "init", "--max-elements", "5", ...WORDS, "--store", store];
	assert.match((await assertEnds(2, other)).stderr, /has maxElements 100000, this scorer 5/);
	assert.equal((await answered(store, "init")).entries, 3);
	assert.deepEqual(await answered(store, "forget-before", "2026-01-31"), { forgotten: 0 });
	const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
	assert.deepEqual(await answered(store, "forget-before", tomorrow), { forgotten: 3 });
	assert.deepEqual(await answered(place, "list"), { namespace: ["support"] });
	assert.deepEqual(await answered(place, "drop", "support"), { dropped: "support" });
	assert.deepEqual(await answered(place, "list"), { namespace: [] });
	for (const [args, message] of [
		[["status"], /no such namespace/],
		[["forget-before", "1d"], /no such namespace/],
		[["drop", "support"], /no namespace support in the store/],
	])
		assert.match((await assertEnds(2, ["store", ...args, "--store", store])).stderr, message);
}

test("kp-score store makes, shows and cleans a file of SQLite", async () => {
	const missing = ["store", "status", "--store", "sqlite:made.db"];
	assert.match((await assertEnds(2, missing)).stderr, /there is no file made\.db/);
	assert.deepEqual(await answered("sqlite:made.db", "init"), { tables: "ready" });
	assert.ok(existsSync(join(folder, "made.db")));
	await administer("sqlite:made.db", "?");
});

test("kp-score store counts what is not forgotten, and makes no file but with init", async () => {
	const place = "sqlite:forgotten.db?create=1";
	for (const args of [["status"], ["drop", "x"], ["forget-before", "1d"]])
		assert.match(
			(await assertEnds(2, ["store", ...args, "--store", place])).stderr,
			/no.* namespace/,
		);
	assert.ok(!existsSync(join(folder, "forgotten.db")));
	await assertEnds(0, ["score", "runs.jsonl", ...WORDS, "--store", place]);
	const store = new SqliteStore({ path: join(folder, "forgotten.db") });
	const scorer = new Scorer({ novelty: "words", store, storeMode: "required" });
	await scorer.forget("t:1");
	scorer.close();
	await store.close();
	const { bytes, entries } = await answered(place, "status");
	assert.deepEqual([entries, bytes % 2], [2, 0]);
});

test("kp-score store ends with 4 if its server is away", async () => {
	for (const args of [["init"], ["status"], ["drop", "x"], ["forget-before", "1d"]]) {
		const away = ["store", ...args, "--store", "postgres://user:pw@localhost:1/db"];
		const { stderr } = await assertEnds(4, away);
		assert.match(stderr, /^error: the store is unavailable: .*ECONNREFUSED/);
	}
});

test("kp-score store says what it expects", async () => {
	for (const [args, message] of [
		[["make"], /expected init, list, status, drop, forget-before, found make/],
		[["drop"], /store drop: expected NAMESPACE, found none/],
		[["status", "x"], /store status: expected no value, found x/],
		[["forget-before", "2026-02-30"], /forget-before 2026-02-30: Expected a day/],
	]) {
		const { stderr } = await assertEnds(2, ["store", ...args, "--store", "sqlite:x.db?create=1"]);
		assert.match(stderr, message);
	}
	const env = { ...process.env, KP_SCORE_STORE: "" };
	assert.match((await assertEnds(2, ["store", "status"], { env })).stderr, /--store or/);
});

describe("kp-score store", { skip: missing }, () => {
	let server;
	before(async () => {
		server = await startPostgres();
	});
	after(() => server?.stop());

	test("makes the tables of PostgreSQL, where other commands name it", async () => {
		const database = await server.createDatabase();
		const place = `postgres://localhost/${database}?user=postgres&host=${server.folder}`;
		const scoring = ["score", "runs.jsonl", ...WORDS, "--store", place];
		assert.match((await assertEnds(2, scoring)).stderr, /kp-score store init makes them/);
		assert.deepEqual(await answered(place, "init"), { tables: "ready" });
		await administer(place, "&");
		const socket = `postgres://postgres:any@/${database}?host=${server.folder}`;
		assert.deepEqual(await answered(socket, "init"), { tables: "ready" });
	});
});
