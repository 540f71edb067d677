/** A server whose tenants are kept apart by the recipe for row-level security. */
import { readFile } from "node:fs/promises";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { startPostgres } from "./postgres.mjs";

const RECIPE = new URL("../../postgres/row-level-security.sql", import.meta.url);

/** The tenants, each with a role and a namespace of its name. */
export const TENANTS = ["acme", "globex"];

/** Starts the server; `fill` is given a store of the owner, in a namespace of no tenant. */
export async function startWithTenants(fill = async () => {}) {
	const server = await startPostgres();
	const pool = new pg.Pool(server.config());
	const store = new PostgresStore({ pool, namespace: "internal" });
	await store.migrate();
	await fill(store);
	await pool.query(await readFile(RECIPE, "utf8"));
	const pools = {};
	for (const user of TENANTS) {
		await pool.query(`CREATE ROLE ${user} LOGIN NOBYPASSRLS IN ROLE kp_novelty_tenant`);
		pools[user] = new pg.Pool(server.config({ user }));
	}
	await pool.end();
	const stop = async () => {
		for (const pool of Object.values(pools)) await pool.end();
		await server.stop();
	};
	return { pools, stop };
}
