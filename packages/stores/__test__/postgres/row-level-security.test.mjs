import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
import { add, callsOf, clear, forget, options, readAll } from "../support/log.mjs";
import { missing } from "../support/postgres.mjs";
import { startWithTenants, TENANTS } from "../support/tenants.mjs";

describe("row-level security", { skip: missing }, () => {
	let started;
	before(async () => {
		started = await startWithTenants((log) => log.append([add("secret")], options()));
	});
	after(() => started?.stop());

	const open = (user, namespace = user) =>
		new PostgresNoveltyLog({ pool: started.pools[user], namespace });

	test("a tenant sees its own entries, and no other's", async () => {
		const sent = {};
		for (const user of TENANTS) {
			sent[user] = Array.from({ length: 20 }, (_, i) => add(`trace ${i}`));
			await open(user).append(sent[user], options());
		}
		for (const user of TENANTS) {
			const found = await readAll(open(user));
			assert.deepEqual(callsOf(found), callsOf(sent[user]));
			for (const table of ["kp_novelty_log", "kp_novelty_head"]) {
				const { rows } = await started.pools[user].query(`SELECT DISTINCT namespace FROM ${table}`);
				assert.deepEqual(rows, [{ namespace: user }]);
			}
		}
	});

	test("a tenant can neither use nor make another namespace", async () => {
		for (const namespace of ["internal", "globex", "new"])
			for (const method of ["append", "read"]) {
				const log = open("acme", namespace);
				const sent = method === "append" ? log.append([add()], options()) : log.read(options());
				await assert.rejects(sent, { code: "42501" });
			}
	});

	test("a tenant can change nothing of another's", async () => {
		const pool = started.pools.acme;
		for (const table of ["kp_novelty_log", "kp_novelty_head"]) {
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
		const log = open("acme");
		await log.append([add("a"), forget("a")], options());
		await log.append([clear()], options());
		assert.equal((await readAll(log)).length, 1);
		assert.deepEqual(await readAll(open("globex")), before);
	});
});
