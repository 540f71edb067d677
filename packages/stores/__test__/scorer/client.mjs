/** A process whose scorer is under load. It sends every answer, until it is told to stop (`kills.test.mjs`). */
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "../support/driver.mjs";
import { Load, SCORER } from "./replay.mjs";

const {
	postgres,
	place,
	options,
	name,
	width,
	ownSkewMs = 0,
	peeks = ownSkewMs !== 0,
} = JSON.parse(process.argv[2]);
// Not that of the store, which is in another thread, or on a server.
const { now } = Date;
Date.now = () => now() + ownSkewMs;
const store = postgres
	? new PostgresStore({ pool: new pg.Pool({ ...postgres, max: 2 }), ...place })
	: new SqliteStore(place);
const scorer = new Scorer({ ...SCORER, ...options, store });
const load = new Load(scorer, name, { width, peeks });
load.on("answer", (answer) => process.send(answer));
process.on("disconnect", () => process.exit());
process.on("message", async () => {
	await load.stop();
	// After all answers.
	process.send({}, () => process.exit());
});
