/** Everything that a long-lived process does, mixed. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as scoring from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { inTurn, LOADS, ownFolder, plain, sample } from "./loads.mjs";

/** Opens stores, scores with what is there, and closes them. */
const storesOpened = (open) =>
	inTurn(async (i) => {
		const store = open();
		const scorer = new scoring.Scorer({ store, storeMode: "required", embedder: "off" });
		await scorer.evaluateValues([1, 2, 3, 4].map((k) => plain(4 * i + k)));
		scorer.close();
		await store.close();
	});

/** What a long-lived process mixes: the number of repetitions of each load in a round. */
const MIX = {
	"scores with the embedder, exact": 64,
	"scores of long texts, fast": 2,
	"scores of texts that were there before": 640,
	"scores without the embedder": 128,
	"rejected calls": 640,
	"aborted calls": 192,
	"calls over their budget": 64,
	"scorers made and dropped": 8,
	"snapshots taken and restored": 4,
	"vector caches made and dropped": 8,
	"models that are missing": 4,
	"workers made and ended": 1,
	"logs imported and scored": 1,
};

/** The minimum number of rounds: in the first ones, caches and memos fill. */
const ROUNDS = 12;

const count = (folder) => readdirSync(folder).length;

/** Mixes loads for some minutes; returns what the process has after each round. */
export async function soak({ minutes, connectionString }) {
	process.emitWarning = () => {};
	const mix = Object.entries(MIX).map(([name, count]) => [LOADS[name].make(scoring), count]);
	const path = join(ownFolder(), "novelty.db");
	mix.push([storesOpened(() => new SqliteStore({ path })), 4]);
	if (connectionString) mix.push([storesOpened(() => new PostgresStore({ connectionString })), 4]);
	const began = performance.now();
	const points = [];
	const isOver = () => performance.now() - began >= 60_000 * minutes;
	for (let round = 0; round < ROUNDS || !isOver(); round++) {
		for (const [load, count] of mix) await load(round * count, count);
		const [files, threads] = ["/proc/self/fd", "/proc/self/task"].map(count);
		points.push({ ms: performance.now() - began, ...(await sample()), files, threads });
	}
	return points;
}
