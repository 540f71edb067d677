import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { missing, startForStores } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

const MODES = ["auto", "required"];

const ROW = "WHERE namespace = $1 AND seq = 4";

const { server, pool } = await startForStores({ after });

describe("damages", { skip: missing }, () => {
	let count = 0;

	/** A namespace with eight entries; `sql` changes its tables by hand, `open` opens another scorer. */
	async function filled(options) {
		const namespace = `damages ${++count}`;
		const open = (more) => {
			const store = new PostgresStore({ pool, namespace });
			return new Scorer({ ...SCORER, ...options, ...more, store });
		};
		const scorer = open();
		const answers = [];
		for (let i = 0; i < 8; i++) answers.push(await answerOf(scorer, `words ${i} first`));
		return {
			namespace,
			open,
			scorer,
			answers,
			sql: (text, values = [namespace]) => pool.query(text, values),
			entries: () => entriesOf(new PostgresStore({ pool, namespace })),
		};
	}

	async function assertRejects(scorer, code, message) {
		const { error } = await answerOf(scorer, `words 4 rejected ${++count}`);
		assert.deepEqual([error?.name, error?.code], ["ScoringError", code]);
		assert.match(error.message, message);
	}

	test("another schema is STORE_MISMATCH, until it is the right one", async () => {
		const database = await server.createDatabase();
		const elsewhere = new pg.Pool(server.config({ database }));
		const store = new PostgresStore({ pool: elsewhere });
		const scorers = MODES.map((storeMode) => new Scorer({ ...SCORER, storeMode, store }));
		for (const scorer of scorers) await assertRejects(scorer, "STORE_MISMATCH", /call migrate\(\)/);
		await store.migrate();
		const answers = [await answerOf(scorers[0], "words 1 a")];
		// Like a later version.
		const rename = (from, to) =>
			elsewhere.query(`ALTER FUNCTION kp_novelty_append_${from} RENAME TO kp_novelty_append_${to}`);
		await elsewhere.query("INSERT INTO kp_novelty_migrations VALUES (99)");
		await rename("v1", "v99");
		for (const scorer of scorers)
			await assertRejects(scorer, "STORE_MISMATCH", /migration 99.*update/);
		await rename("v99", "v1");
		for (const scorer of scorers) answers.push(await answerOf(scorer, `words 1 ${answers.length}`));
		assert.equal(await assertReplayed(await entriesOf(store), answers), 3);
		await elsewhere.end();
	});

	test("a clock that is set back does not show in the store, nor in scores", async () => {
		const { open, scorer, sql, answers, entries } = await filled();
		// As if the clock had been an hour ahead when the entries were made.
		for (const table of ["entries", "head"])
			await sql(`UPDATE kp_novelty_${table} SET at = at + 3600000 WHERE namespace = $1`);
		for (const one of [scorer, open(), scorer])
			answers.push(await answerOf(one, `words 2 back ${answers.length}`));
		const found = await entries();
		assert.equal(new Set(found.slice(-4).map(({ at }) => at)).size, 1);
		assert.equal(await assertReplayed(found, answers), 11);
	});

	test("entries expire by the clock of the store, not of a process", async () => {
		const { open, scorer, sql } = await filled({ cache: { ttlMs: 60_000 } });
		await sql("UPDATE kp_novelty_head SET at = at + 3600000 WHERE namespace = $1");
		const [late, last] = [
			await answerOf(scorer, "words 3 late"),
			await answerOf(open(), "words 3 last"),
		];
		assert.deepEqual([late.seq, late.maxSimilarity], [9, null]);
		assert.deepEqual([last.seq, last.nearest], [10, "words 3 late"]);
	});

	test("a store with a damaged entry is INVALID_STORE until repaired", async () => {
		const { open, scorer, sql, answers, entries } = await filled();
		await sql(`UPDATE kp_novelty_entries SET kind = 'x' ${ROW}`);
		const damaged = /^entry 4 of the store: kind: expected "add", "forget" or "clear", got "x"$/;
		const later = MODES.map((storeMode) => open({ storeMode }));
		await assertRejects(later[0], "INVALID_STORE", damaged);
		// A scorer that has read it no longer needs it, and must not hide it from others.
		answers.push(await answerOf(scorer, "words 4 mirrored"));
		await assertRejects(later[1], "INVALID_STORE", damaged);
		await sql(`UPDATE kp_novelty_entries SET kind = 'add' ${ROW}`);
		for (const one of later) answers.push(await answerOf(one, `words 4 ${answers.length}`));
		// A call that was rejected was not appended.
		const found = await entries();
		assert.equal(found.length, 11);
		assert.equal(await assertReplayed(found, answers), 11);
	});

	test("a changed id appears only in nearest, for scorers that read it again", async () => {
		const { open, scorer, sql } = await filled();
		await sql(`UPDATE kp_novelty_entries SET id = 'changed' ${ROW}`);
		const old = await answerOf(scorer, "words 3 old");
		await scorer.forget("words 3 old");
		const { nearest, maxSimilarity } = await answerOf(open(), "words 3 new");
		assert.deepEqual([old.nearest, nearest], ["words 3 first", "changed"]);
		assert.equal(maxSimilarity, old.maxSimilarity);
	});

	const headTo = (seq) => `UPDATE kp_novelty_head SET seq = ${seq} WHERE namespace = $1`;
	const cutTail = "DELETE FROM kp_novelty_entries WHERE namespace = $1 AND seq > 5";
	for (const [name, changes, kept] of [
		["its tail was deleted", [cutTail], 5],
		["its tail was deleted, also in the head", [cutTail, headTo(5)], 5],
		["its head was deleted", ["DELETE FROM kp_novelty_head WHERE namespace = $1"], 8],
		["all entries were deleted", ["DELETE FROM kp_novelty_entries WHERE namespace = $1"], 0],
		[
			"it was deleted",
			["kp_novelty_entries", "kp_novelty_head"].map(
				(table) => `DELETE FROM ${table} WHERE namespace = $1`,
			),
			0,
		],
	])
		for (const others of [0, 1, 9])
			test(`a mirror begins anew after ${name} and ${others} calls of another process`, async () => {
				const { open, scorer, sql, answers, entries } = await filled();
				for (const change of changes) await sql(change);
				const now = answers.slice(0, kept);
				const other = open();
				for (let i = 0; i < others; i++) now.push(await answerOf(other, `words ${7 - i} other`));
				for (let i = 0; i < 3; i++) now.push(await answerOf(scorer, `words 7 mirror ${i}`));
				now.push(await answerOf(other, "words 7 other again"));
				const expected = kept + others + 4;
				assert.equal(await assertReplayed(await entries(), now), expected);
				assert.equal(scorer.status().cacheSize, expected - 1);
			});
});
