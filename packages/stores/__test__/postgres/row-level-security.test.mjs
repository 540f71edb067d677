import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { add, callsOf, clear, forget, options, readAll } from "../support/entries.mjs";
import { missing } from "../support/postgres.mjs";
import { startWithTenants, TENANTS } from "../support/tenants.mjs";

describe("row-level security", { skip: missing }, () => {
	let started;
	before(async () => {
		started = await startWithTenants((store) => store.append([add("secret")], options()));
	});
	after(() => started?.stop());

	const open = (user, namespace = user) =>
		new PostgresStore({ pool: started.pools[user], namespace });

	test("a tenant sees its own entries, and no other's", async () => {
		const sent = {};
		for (const user of TENANTS) {
			sent[user] = Array.from({ length: 20 }, (_, i) => add(`trace ${i}`));
			await open(user).append(sent[user], options());
		}
		for (const user of TENANTS) {
			const found = await readAll(open(user));
			assert.deepEqual(callsOf(found), callsOf(sent[user]));
			for (const table of ["kp_novelty_entries", "kp_novelty_head"]) {
				const { rows } = await started.pools[user].query(`SELECT DISTINCT namespace FROM ${table}`);
				assert.deepEqual(rows, [{ namespace: user }]);
			}
		}
	});

	test("a tenant can neither use nor make another namespace", async () => {
		for (const namespace of ["internal", "globex", "new"])
			for (const method of ["append", "read"]) {
				const store = open("acme", namespace);
				const sent = method === "append" ? store.append([add()], options()) : store.read(options());
				await assert.rejects(sent, { code: "42501" });
			}
	});

	test("a tenant can change nothing of another's", async () => {
		const pool = started.pools.acme;
		for (const table of ["kp_novelty_entries", "kp_novelty_head"]) {
			const changed = await pool.query(`UPDATE ${table} SET at = 0 WHERE namespace = 'globex'`);
			assert.equal(changed.rowCount, 0);
			const deleted = await pool.query(`DELETE FROM ${table} WHERE namespace = 'globex'`);
			assert.equal(deleted.rowCount, 0);
			await assert.rejects(pool.query(`UPDATE ${table} SET namespace = 'globex'`), {
				code: "42501",
			});
		}
	});

	test("a tenant can forget and clear, which leaves others alone", async () => {
		const before = await readAll(open("globex"));
		const store = open("acme");
		await store.append([add("a"), forget("a")], options());
		await store.append([clear()], options());
		assert.equal((await readAll(store)).length, 1);
		assert.deepEqual(await readAll(open("globex")), before);
	});
});
