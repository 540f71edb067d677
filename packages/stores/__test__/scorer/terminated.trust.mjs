/** Threads that are terminated while their scorers use a store: the process goes on, and the store is whole. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { repeats } from "../../../../__test__/support/draws.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing as skip, startForStores } from "../support/postgres.mjs";
import { entriesOf } from "./replay.mjs";

const TIMES = repeats(30);
const LONGEST_MS = 60;

const { server, pool } = await startForStores({ after });

async function assertSurvived(store, opened) {
	for (let n = 0; n < TIMES; n++) {
		const workerData = { ...opened, name: `thread${n}` };
		const worker = new Worker(new URL("worker.mjs", import.meta.url), { workerData });
		assert.deepEqual(await once(worker, "message"), ["busy"]);
		await sleep(Math.random() * LONGEST_MS);
		await worker.terminate();
	}
	// Those that are still needed, without gaps.
	const ids = (await entriesOf(store)).map(({ id }) => id);
	assert.ok(ids.length > 0);
	assert.equal(new Set(ids).size, ids.length);
}

test("SqliteStore of a thread that is terminated at any moment ends no process", async (t) => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	t.after(() => store.close());
	await assertSurvived(store, { path });
});

test("PostgresStore of a thread that is terminated at any moment ends no process", { skip }, () =>
	assertSurvived(new PostgresStore({ pool }), { postgres: server.config() }),
);
