import { after, before, describe, test } from "node:test";
import { conformance } from "@knowledgepulse/scoring-stores/conformance";
import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { startPglite } from "../support/pglite.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

async function startServer(version) {
	const server = await startPostgres({ version });
	return { config: server.config(), stop: () => server.stop() };
}

/** Registers the checks with a server of their own. */
function check(name, { start, compare = "mirror", skip = false }) {
	describe(name, { skip }, () => {
		let server;
		let pool;
		before(async () => {
			server = await start();
			pool = new pg.Pool({ ...server.config, max: 20 });
			pool.on("error", () => {});
			const log = new PostgresNoveltyLog({ pool, compare });
			await log.migrate();
			await log.close();
		});
		after(async () => {
			await pool?.end();
			await server?.stop();
		});

		const open = ({ namespace }) => new PostgresNoveltyLog({ pool, namespace, compare });
		async function age(namespace, ms) {
			for (const table of ["kp_novelty_log", "kp_novelty_head"])
				await pool.query(`UPDATE ${table} SET at = at - $1 WHERE namespace = $2`, [ms, namespace]);
		}
		const rules =
			compare === "mirror" ? conformance(open, { age }) : conformance(open, { compare: true });
		for (const { name, run } of rules) test(`PostgresNoveltyLog: ${name}`, run);
	});
}

check("PGlite", { start: startPglite });
for (const version of [16, 18]) {
	const start = () => startServer(version);
	check(`PostgreSQL ${version}`, { start, skip: missing });
	check(`PostgreSQL ${version}, comparing`, {
		...{ start, skip: missing, compare: "database" },
	});
}
