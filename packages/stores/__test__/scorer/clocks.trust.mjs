/** Processes that share a store while their clocks differ by months, and somebody deletes rows by hand. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { repeats } from "../../../../__test__/support/draws.mjs";
import { change, temporaryFile } from "../sqlite/files.mjs";
import { missing as skip, startForStores } from "../support/postgres.mjs";
import { startClient } from "./clients.mjs";
import { answerOf, entriesOf, isStored, SCORER, traceOf } from "./replay.mjs";

const ROUNDS = repeats(1);
const PROCESSES = 8;
const MONTH_MS = 30 * 86_400_000;
const TTL_MS = 3_600_000;
const MOST = 60;
/** How many answers of a round are compared with their replay. */
const COMPARED = 100;

const { server, pool } = await startForStores({ after });

const deletion = (table) =>
	`DELETE FROM ${table} WHERE seq IN (SELECT seq FROM ${table} ORDER BY random() LIMIT 3)`;

/** The entries of a store, read anew until nothing is missing. */
async function wholeOf(store) {
	for (let attempt = 0; ; attempt++)
		try {
			return await entriesOf(store);
		} catch (error) {
			if (attempt === 20) throw error;
		}
}

/** The answer to the last of some entries, by a scorer that knows the others that are alive. */
async function replayOf(entries) {
	const { id, at } = entries.at(-1);
	const alone = new Scorer({ ...SCORER, cache: { maxElements: MOST } });
	const alive = entries.slice(0, -1).filter((entry) => at - entry.at < TTL_MS);
	for (const entry of alive.slice(-MOST)) await alone.remember(traceOf(entry.id));
	const { score, maxSimilarity, nearest } = await answerOf(alone, id);
	alone.close();
	return { id, score, maxSimilarity, nearest };
}

async function round(t, name, { store, opened, deleteSome }) {
	const options = { cache: { maxElements: MOST, ttlMs: TTL_MS }, storeTimeoutMs: 60_000 };
	const clients = Array.from({ length: PROCESSES }, (_, i) => {
		const skewMs = Math.round(MONTH_MS * ((2 * i) / (PROCESSES - 1) - 1));
		const own = { name: `${name}-${i}`, width: 2, peeks: true, skewMs };
		return startClient({ ...opened, ...own, options });
	});
	let entries;
	try {
		await Promise.all(clients.map(({ ready }) => ready));
		for (let deletions = 0; deletions < 30; deletions++) {
			await deleteSome();
			await sleep(100);
		}
		entries = await wholeOf(store);
		await sleep(1_500);
		await Promise.all(clients.map((client) => client.stop()));
	} finally {
		for (const { child } of clients) child.kill("SIGKILL");
	}
	const { seq: newest } = entries.at(-1);
	entries.push(...(await entriesOf(store)).filter(({ seq }) => seq > newest));
	const answers = clients.flatMap((client) => client.answers);
	for (const { error, reason } of answers) assert.equal(error ?? reason ?? null, null);
	const later = answers.filter((answer) => isStored(answer) && answer.seq > newest);
	assert.ok(later.length > 0);
	const step = Math.ceil(later.length / COMPARED);
	for (const answer of later.filter((_, index) => index % step === 0)) {
		const end = entries.findIndex(({ seq }) => seq === answer.seq) + 1;
		const { id, score, maxSimilarity, nearest } = answer;
		const expected = await replayOf(entries.slice(0, end));
		assert.deepEqual({ id, score, maxSimilarity, nearest }, expected, `entry ${answer.seq}`);
	}
	t.diagnostic(
		JSON.stringify({ answers: answers.length, entries: entries.length, later: later.length }),
	);
}

test("processes whose clocks differ by months share a file, of which rows are deleted", async (t) => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	t.after(() => store.close());
	const deleteSome = () => change(path, deletion("novelty_entries"));
	for (let n = 0; n < ROUNDS; n++)
		await round(t, `file${n}`, { store, opened: { place: { path } }, deleteSome });
});

test("processes share a PostgreSQL whose clock jumps by months, and of which rows are deleted", {
	skip,
}, async (t) => {
	await pool.query(`CREATE OR REPLACE FUNCTION kp_novelty.now_v1() RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT (extract(epoch FROM clock_timestamp()) * 1000 + (2 * random() - 1) * ${MONTH_MS})::bigint $$`);
	const deleteSome = () => pool.query(deletion("kp_novelty.entries"));
	const opened = { postgres: server.config(), place: {} };
	for (let n = 0; n < ROUNDS; n++)
		await round(t, `server${n}`, { store: new PostgresStore({ pool }), opened, deleteSome });
});
