/** Fills the file system of a server under load, makes room, and prints the results. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { startPostgres } from "../support/postgres.mjs";
import { assertReplayed, entriesOf, isFailed, isStored, Load, SCORER } from "./replay.mjs";

const [parent] = process.argv.slice(2);
const server = await startPostgres({ parent });
const pool = new pg.Pool(server.config()).on("error", () => {});
const store = new PostgresStore({ pool, durable: true, migrate: true });
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
await pool.end();
await server.stop();
process.stdout.write(JSON.stringify({ reasons, stored }));
process.exit();
