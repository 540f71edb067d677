/** Fills the file system of a store under load, makes room, and prints the results. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "../support/driver.mjs";
import { startPostgres } from "../support/postgres.mjs";
import { assertReplayed, entriesOf, isFailed, isStored, Load, SCORER } from "./replay.mjs";

const [parent, name] = process.argv.slice(2);

async function openPostgres() {
	const server = await startPostgres({ parent });
	const pool = new pg.Pool(server.config());
	return new PostgresStore({ pool, durable: true, migrate: true });
}

const store =
	name === "SQLite" ? new SqliteStore({ path: join(parent, "novelty.db") }) : await openPostgres();
const scorer = new Scorer({ ...SCORER, store });
const load = new Load(scorer, "full", { width: 32 });
await load.until(isStored);
const ballast = join(parent, "ballast");
try {
	for (;;) writeFileSync(ballast, Buffer.alloc(2 ** 20), { flag: "a" });
} catch (error) {
	if (error.code !== "ENOSPC") throw error;
}
await load.until(isFailed);
rmSync(ballast);
await load.until(isStored);
await load.stop();
const stored = await assertReplayed(await entriesOf(store), load.answers);
const failed = load.answers.filter(isFailed);
const reasons = [...new Set(failed.map(({ reason }) => reason))];
process.stdout.write(JSON.stringify({ reasons, stored }));
process.exit();
