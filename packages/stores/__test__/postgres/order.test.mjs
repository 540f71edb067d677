import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { add, callsOf, clear, end, options, readAll } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const { pool } = await startForStores({ after });

describe("order", { skip: missing }, () => {
	let count = 0;

	/** A store on a namespace of its own; `sql` changes its tables by hand. */
	function open() {
		const namespace = `order ${++count}`;
		const store = new PostgresStore({ pool, namespace });
		const sql = (text) => pool.query(text, [namespace]);
		return { store, namespace, sql };
	}

	/** A store of `length` entries, and its first page. */
	async function filled(length = 10) {
		const opened = open();
		const entries = Array.from({ length }, (_, i) => add(`trace ${i}`));
		const page = await opened.store.append(entries, options());
		return { ...opened, page, entries };
	}

	test("append of a repeated batch with a clear does not bring back what it cleared", async () => {
		const { store } = open();
		const batch = [add("a"), clear(), add("b")];
		await store.append(batch, options());
		const page = await store.append([...batch, add("c")], options());
		assert.deepEqual(
			page.entries.map(({ kind, id }) => id ?? kind),
			["clear", "b", "c"],
		);
		assert.equal(page.head, 4);
		assert.equal(page.first, 2);
	});

	for (const [name, change, expected] of [
		[
			"the newest entries were deleted",
			"DELETE FROM kp_novelty_entries WHERE namespace = $1 AND seq > 6",
			{ head: 6, kept: [0, 6] },
		],
		[
			"the entry at the position was deleted",
			"DELETE FROM kp_novelty_entries WHERE namespace = $1 AND seq = 10",
			{ head: 9, kept: [0, 9] },
		],
		[
			"all entries were deleted",
			"DELETE FROM kp_novelty_entries WHERE namespace = $1",
			{ head: 0, kept: [0, 0] },
		],
		[
			"the head was set back",
			"UPDATE kp_novelty_head SET seq = 5 WHERE namespace = $1",
			{ head: 10, kept: [0, 10] },
		],
		[
			"the head was deleted",
			"DELETE FROM kp_novelty_head WHERE namespace = $1",
			{ head: 10, kept: [0, 10] },
		],
	])
		for (const method of ["read", "append"])
			test(`${method} starts a new epoch after ${name}`, async () => {
				const { store, page, entries, sql } = await filled();
				const after = end(page);
				await sql(change);
				const call = options({ after });
				const added = method === "append" ? [add()] : [];
				const next = await (method === "append" ? store.append(added, call) : store.read(call));
				assert.notEqual(next.epoch, page.epoch);
				assert.equal(next.reset, true);
				const kept = entries.slice(...expected.kept);
				assert.deepEqual(callsOf(next.entries), callsOf([...kept, ...added]));
				assert.equal(next.head, expected.head + added.length);

				const last = await store.append([add()], options({ after: null }));
				assert.equal(last.epoch, next.epoch);
				assert.equal(last.head, next.head + 1);
			});

	test("append rejects with INVALID_STORE if there are entries beyond the head", async () => {
		const { store, page, sql } = await filled();
		await sql("UPDATE kp_novelty_head SET seq = 5 WHERE namespace = $1");
		const { epoch, entries } = page;
		const after = { epoch, seq: 3, call: entries[2].call };
		await assert.rejects(store.append([add()], options({ after })), {
			name: "ScoringError",
			code: "INVALID_STORE",
		});
	});

	test("read does not hide a gap", async () => {
		const { store, sql } = await filled();
		await sql("DELETE FROM kp_novelty_entries WHERE namespace = $1 AND seq = 5");
		const { entries } = await store.read(options());
		assert.deepEqual(
			entries.map(({ seq }) => Number(seq)),
			[1, 2, 3, 4, 6, 7, 8, 9, 10],
		);
	});

	test("read passes damaged entries on", async () => {
		const { store, sql } = await filled(4);
		await sql(
			`UPDATE kp_novelty_entries SET embedding = '\\x0102' WHERE namespace = $1 AND seq = 1`,
		);
		await sql(
			"UPDATE kp_novelty_entries SET kind = 'x', id = NULL WHERE namespace = $1 AND seq = 2",
		);
		await sql("UPDATE kp_novelty_entries SET at = -5 WHERE namespace = $1 AND seq = 3");
		const { entries } = await store.read(options());
		assert.deepEqual([...entries[0].embedding], [1, 2]);
		assert.deepEqual([entries[1].kind, entries[1].id], ["x", null]);
		assert.equal(entries[2].at, -5);
	});

	test("append deletes a bounded number of old entries", async () => {
		const { store, page, sql } = await filled(100);
		for (const table of ["kp_novelty_entries", "kp_novelty_head"])
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
