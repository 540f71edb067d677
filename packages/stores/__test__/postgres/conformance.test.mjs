import { after, before, describe, test } from "node:test";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { isLongRun } from "../../../../__test__/support/draws.mjs";
import pg from "../support/driver.mjs";
import { startPglite } from "../support/pglite.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

async function startServer(version) {
	const server = await startPostgres({ version });
	return { config: server.config(), stop: () => server.stop() };
}

/** Registers the checks on a separate server. */
function check(name, start, skip) {
	describe(name, { skip }, () => {
		let server;
		let pool;
		before(async () => {
			server = await start();
			pool = new pg.Pool({ ...server.config, max: 20 });
			await new PostgresStore({ pool }).migrate();
		});
		after(async () => {
			await pool?.end();
			await server?.stop();
		});

		const open = ({ namespace }) => new PostgresStore({ pool, namespace });
		async function age(namespace, ms) {
			for (const table of ["kp_novelty.entries", "kp_novelty.head"])
				await pool.query(`UPDATE ${table} SET at = at - $1 WHERE namespace = $2`, [ms, namespace]);
		}
		for (const { name, run } of conformance(open, { age })) test(`PostgresStore: ${name}`, run);
	});
}

// Also used by the tests of the documentation.
check("PGlite", startPglite, !missing && !isLongRun);
for (const version of [16, 18]) check(`PostgreSQL ${version}`, () => startServer(version), missing);
