/** A thread whose scorer is under load, until it is terminated (`terminated.trust.mjs`). */
import { parentPort, workerData } from "node:worker_threads";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "../support/driver.mjs";
import { Load, SCORER } from "./replay.mjs";

const { postgres, path, name } = workerData;
const store = postgres
	? new PostgresStore({ pool: new pg.Pool(postgres) })
	: new SqliteStore({ path });
const load = new Load(new Scorer({ ...SCORER, store }), name, { width: 16 });
load.once("answer", () => parentPort.postMessage("busy"));
