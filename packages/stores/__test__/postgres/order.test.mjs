import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { add, callsOf, clear, end, options, readAll } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const { pool } = await startForStores({ after });

describe("order", { skip: missing }, () => {
	let count = 0;

	/** A store on a namespace of its own with entries, its page; `sql` changes its tables by hand. */
	async function filled(entries = Array.from({ length: 10 }, (_, i) => add(`trace ${i}`))) {
		const namespace = `order ${++count}`;
		const store = new PostgresStore({ pool, namespace });
		const page = await store.append(entries, options());
		const sql = (text) => pool.query(text, [namespace]);
		return { store, page, entries, sql };
	}

	test("append of a repeated batch with a clear does not bring back what it cleared", async () => {
		const batch = [add("a"), clear(), add("b")];
		const { store } = await filled(batch);
		const page = await store.append([...batch, add("c")], options());
		assert.deepEqual(
			page.entries.map(({ kind, id }) => id ?? kind),
			["clear", "b", "c"],
		);
		assert.equal(page.head, 4);
		assert.equal(page.first, 2);
	});

	for (const [name, change, kept] of [
		["the newest entries were deleted", "DELETE FROM kp_novelty.entries WHERE seq > 6 AND", 6],
		["all entries were deleted", "DELETE FROM kp_novelty.entries WHERE", 0],
		["the head was set back", "UPDATE kp_novelty.head SET seq = 5 WHERE", 10],
		["the head was deleted", "DELETE FROM kp_novelty.head WHERE", 10],
	])
		for (const method of ["read", "append"])
			test(`${method} starts a new epoch after ${name}`, async () => {
				const { store, page, entries, sql } = await filled();
				await sql(`${change} namespace = $1`);
				const call = options({ after: end(page) });
				const added = method === "append" ? [add()] : [];
				const next = await (method === "append" ? store.append(added, call) : store.read(call));
				assert.notEqual(next.epoch, page.epoch);
				assert.equal(next.reset, true);
				assert.deepEqual(callsOf(next.entries), callsOf([...entries.slice(0, kept), ...added]));
				assert.equal(next.head, kept + added.length);

				const last = await store.append([add()], options({ after: null }));
				assert.equal(last.epoch, next.epoch);
				assert.equal(last.head, next.head + 1);
			});

	test("append deletes a bounded number of old entries", async () => {
		const { store, page, sql } = await filled(Array.from({ length: 100 }, () => add()));
		for (const table of ["kp_novelty.entries", "kp_novelty.head"])
			await sql(`UPDATE ${table} SET at = at - 600000 WHERE namespace = $1`);
		const keepFrom = Date.now();
		const after = end(page);
		const next = await store.append([add()], options({ after, keepFrom }));
		assert.equal(next.reset, false);
		assert.equal(next.first, 19);
		for (let i = 0; i < 9; i++) await store.append([], options({ keepFrom }));
		const left = await readAll(store);
		assert.deepEqual(callsOf(left), callsOf(next.entries));
	});
});
