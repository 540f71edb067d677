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

async function countSecured(client) {
	const { rows } = await client.query("SELECT FROM pg_class WHERE relrowsecurity");
	return rows.length;
}

describe("row-level security", { skip: missing }, () => {
	const pools = {};
	before(async () => {
		const internal = new PostgresStore({ pool, namespace: "internal" });
		await internal.append([add("secret")], options());
		const recipe = await readFile(RECIPE, "utf8");
		// An owner without the right to create roles changes nothing.
		await pool.query(`CREATE ROLE owner LOGIN; ALTER TABLE kp_novelty.head OWNER TO owner;
			ALTER TABLE kp_novelty.entries OWNER TO owner; ALTER SCHEMA kp_novelty OWNER TO owner`);
		const owner = new pg.Client(server.config({ user: "owner" }));
		await owner.connect();
		await assert.rejects(owner.query(recipe), { code: "42501" });
		await owner.query("ROLLBACK");
		assert.equal(await countSecured(owner), 0);
		await owner.end();
		await pool.query(recipe);
		assert.equal(await countSecured(pool), 2);
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
