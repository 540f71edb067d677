/** Stores that the checks share: what client processes open, how this process reads it, and how it is used. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { startPostgres } from "../../../packages/stores/__test__/support/postgres.mjs";

export async function file() {
	const folder = mkdtempSync(join(tmpdir(), "kp-stores-"));
	const opened = { path: join(folder, "novelty.db") };
	const log = new SqliteStore(opened);
	return {
		...{ opened, log },
		async stop() {
			await log.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

export async function postgres() {
	const server = await startPostgres();
	const pool = new pg.Pool(server.config()).on("error", () => {});
	const log = new PostgresStore({ pool });
	await log.migrate();
	return {
		...{ server, log },
		// A crash must not lose what was answered.
		opened: { postgres: server.config(), durable: true },
		async stop() {
			await server.stop();
			await pool.end();
		},
	};
}
