/** The recipe for row-level security isolates tenants, each with a role and a namespace of the same name. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "../support/driver.mjs";
import { add, callsOf, clear, forget, options, readAll } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";

const RECIPE = new URL("../../postgres/row-level-security.sql", import.meta.url);

const TENANTS = ["acme", "globex"];

const { server, pool } = await startForStores({ after });

describe("row-level security", { skip: missing }, () => {
	const pools = {};
	before(async () => {
		const internal = new PostgresStore({ pool, namespace: "internal" });
		await internal.append([add("secret")], options());
		await pool.query(await readFile(RECIPE, "utf8"));
		for (const user of TENANTS) {
			await pool.query(`CREATE ROLE ${user} LOGIN NOBYPASSRLS IN ROLE kp_novelty_tenant`);
			pools[user] = new pg.Pool(server.config({ user }));
		}
	});
	after(() => Promise.all(Object.values(pools).map((pool) => pool.end())));

	const open = (user, namespace = user) => new PostgresStore({ pool: pools[user], namespace });

	test("a tenant sees its own entries, and no other's", async () => {
		const sent = {};
		for (const user of TENANTS) {
			sent[user] = Array.from({ length: 20 }, (_, i) => add(`trace ${i}`));
			await open(user).append(sent[user], options());
		}
		for (const user of TENANTS) {
			const found = await readAll(open(user));
			assert.deepEqual(callsOf(found), callsOf(sent[user]));
			for (const table of ["kp_novelty.entries", "kp_novelty.head"]) {
				const { rows } = await pools[user].query(`SELECT DISTINCT namespace FROM ${table}`);
				assert.deepEqual(rows, [{ namespace: user }]);
			}
		}
	});

	test("a tenant can neither use nor make another namespace", async () => {
		for (const namespace of ["internal", "globex", "new"]) {
			const store = open("acme", namespace);
			await assert.rejects(store.append([add()], options()), { code: "42501" });
			await assert.rejects(store.read(options()), { code: "42501" });
		}
	});

	test("a tenant can change nothing of another's", async () => {
		const { acme } = pools;
		for (const table of ["kp_novelty.entries", "kp_novelty.head"]) {
			for (const change of [`UPDATE ${table} SET at = 0`, `DELETE FROM ${table}`]) {
				const { rowCount } = await acme.query(`${change} WHERE namespace = 'globex'`);
				assert.equal(rowCount, 0);
			}
			const moved = acme.query(`UPDATE ${table} SET namespace = 'globex'`);
			await assert.rejects(moved, { code: "42501" });
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
