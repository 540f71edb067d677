/** Processes that share a store: their clocks differ, and they are killed at random. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import {
	draws,
	isLongRun,
	repeatable,
	repeats,
	seed,
} from "../../../../__test__/support/draws.mjs";
import { kinds } from "../../../../__test__/support/traces.mjs";
import { change, temporaryFile } from "../sqlite/files.mjs";
import pg from "../support/driver.mjs";
import { end, options as reading } from "../support/entries.mjs";
import { missing as skip, startPostgres } from "../support/postgres.mjs";
import { startClient } from "./clients.mjs";
import { assertReplayed, entriesOf, isFailed } from "./replay.mjs";

const DURATION_MS = isLongRun ? repeats(10_000) : 4_000;
const PROCESSES = 8;
const LONGEST_LIFE_MS = 4_000;
const MONTH_MS = 30 * 86_400_000;

/**
 * Lets processes score while random ones are killed and replaced. Fails unless the store is complete, has no call
 * twice, and all answers from it equal those of a single process. Returns counts.
 */
async function underKills(setup) {
	const draw = draws(seed);
	const all = [];
	// Small windows, so that old entries leave them.
	const cache = { maxElements: draw.of([10, 60, 500]) };
	const options = { cache, novelty: draw.of(kinds), storeTimeoutMs: 10_000 };
	async function start() {
		const [name, width] = [`client${all.length}`, draw.of([1, 4, 16])];
		const client = startClient({ ...setup.opened, options, name, width });
		all.push(client);
		await client.ready;
		return client;
	}

	const running = await Promise.all(Array.from({ length: PROCESSES }, start));
	const began = performance.now();
	const isOver = () => performance.now() - began >= DURATION_MS;
	let kills = 0;
	async function killing(place) {
		while (!isOver()) {
			await sleep(draw.below(LONGEST_LIFE_MS));
			await running[place].kill();
			kills += 1;
			running[place] = await start();
		}
	}
	const entries = [];
	let after = null;
	/** Reads the store while it grows, because unneeded entries are deleted in time. */
	async function catchUp() {
		const { header } = await setup.store.read(reading());
		for (;;) {
			const page = await setup.store.read(reading({ header, after }));
			if (page.reset && after !== null)
				throw new Error(`the store does not go on after entry ${after.seq}`);
			if (page.entries.length === 0) return;
			after = end(page);
			for (const { seq, at, kind, id } of page.entries) entries.push({ seq, at, kind, id });
		}
	}
	async function following() {
		while (!isOver()) {
			await sleep(1_000);
			await catchUp();
		}
	}
	try {
		await Promise.all([...[...running.keys()].map(killing), following()]);
		await Promise.all(running.map((client) => client.stop()));
	} finally {
		for (const { child } of all) child.kill("SIGKILL");
	}
	await catchUp();

	const answers = all.flatMap((client) => client.answers);
	assert.equal(answers.find(isFailed)?.reason, undefined);
	const stored = await assertReplayed(entries, answers, { cache, novelty: options.novelty });
	return { kills, stored, entries: entries.length };
}

async function postgres(t) {
	const server = await startPostgres();
	const pool = new pg.Pool(server.config());
	t.after(async () => {
		await server.stop();
		await pool.end();
	});
	const store = new PostgresStore({ pool });
	await store.migrate();
	return { store, opened: { postgres: server.config() } };
}

async function assertNothingLost(t, setup) {
	const found = await repeatable("kills", () => underKills(setup));
	t.diagnostic(JSON.stringify(found));
}

test("killed processes neither lose nor repeat entries in a file", async (t) => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	t.after(() => store.close());
	await assertNothingLost(t, { store, opened: { place: { path } } });
	assert.equal(change(path, "PRAGMA integrity_check")[0].integrity_check, "ok");
});

test("killed processes neither lose nor repeat entries in PostgreSQL", { skip }, async (t) =>
	assertNothingLost(t, await postgres(t)),
);

test("processes whose clocks differ by up to two months give the scores of one", async (t) => {
	const path = temporaryFile();
	const store = new SqliteStore({ path });
	t.after(() => store.close());
	const cache = { maxElements: 60, ttlMs: 30_000 };
	const clients = Array.from({ length: PROCESSES }, (_, i) => {
		const ownSkewMs = MONTH_MS * ((2 * i) / (PROCESSES - 1) - 1);
		const options = { cache, storeTimeoutMs: 10_000 };
		return startClient({ place: { path }, options, name: `client${i}`, width: 2, ownSkewMs });
	});
	try {
		await Promise.all(clients.map(({ ready }) => ready));
		await sleep(1_000);
		await Promise.all(clients.map((client) => client.stop()));
	} finally {
		for (const { child } of clients) child.kill("SIGKILL");
	}
	const answers = clients.flatMap((client) => client.answers);
	const stored = await assertReplayed(await entriesOf(store), answers, { cache });
	assert.equal(stored, answers.length);
});
