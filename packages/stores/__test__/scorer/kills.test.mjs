/** Processes that share a store and are killed at random, and a server that crashes meanwhile. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import {
	draws,
	isLongRun,
	repeatable,
	repeats,
	seed,
} from "../../../../__test__/support/draws.mjs";
import { change, temporaryFile } from "../sqlite/files.mjs";
import { end, options as reading } from "../support/entries.mjs";
import { missing as skip, startPostgres } from "../support/postgres.mjs";
import { askAll, ClientProcess } from "./processes.mjs";
import { assertReplayed, isFailed, isStored } from "./replay.mjs";

const DURATION_MS = isLongRun ? repeats(10_000) : 4_000;
const PROCESSES = 8;
const LONGEST_LIFE_MS = 4_000;

/** A small window, so that old entries leave it. */
const cache = { maxElements: 500 };
const LOAD = { width: 4 };

/** Reads a store while it grows, because unneeded entries are deleted in time. */
class Follower {
	entries = [];
	#store;
	#after = null;

	constructor(store) {
		this.#store = store;
	}

	async catchUp() {
		const { header } = await this.#store.read(reading());
		for (;;) {
			const after = this.#after;
			const page = await this.#store.read(reading({ header, after }));
			if (page.reset && after !== null)
				throw new Error(`the store does not go on after entry ${after.seq}`);
			if (page.entries.length === 0) return;
			this.#after = end(page);
			for (const { seq, at, kind, id } of page.entries) this.entries.push({ seq, at, kind, id });
		}
	}
}

/**
 * Lets processes score while random ones are killed and replaced; calls `disturb(setup)`, if given,
 * repeatedly. Fails unless the store is complete, has no call twice, and all answers from it equal those of
 * a single process. Returns counts.
 */
async function underKills(setup, disturb) {
	const draw = draws(seed);
	const all = [];
	// Calls fail only in tests that provoke it.
	const options = { cache, storeTimeoutMs: disturb ? 1_000 : 10_000 };
	async function start() {
		const client = new ClientProcess();
		const name = `client${all.push(client)}`;
		await client.ask("open", setup.opened, options);
		await client.ask("load", name, LOAD);
		return client;
	}

	const began = performance.now();
	const isOver = () => performance.now() - began >= DURATION_MS;
	const running = await Promise.all(Array.from({ length: PROCESSES }, start));
	let kills = 0;
	async function killing(place) {
		while (!isOver()) {
			await sleep(draw.below(LONGEST_LIFE_MS));
			await running[place].kill();
			kills += 1;
			running[place] = await start();
		}
	}
	let disturbed = 0;
	async function disturbing() {
		while (disturb && !isOver()) {
			await disturb(setup);
			disturbed += 1;
		}
	}
	const follower = new Follower(setup.store);
	async function follow() {
		while (!isOver()) {
			await sleep(1_000);
			// The first user of a namespace creates it with its model, and the follower has none.
			if (!all.some(({ answers }) => answers.some(isStored))) continue;
			// A disturbed server may not answer.
			await follower.catchUp().catch((error) => {
				if (!disturb) throw error;
			});
		}
	}
	try {
		await Promise.all([...[...running.keys()].map(killing), disturbing(), follow()]);
		await askAll(running, "stop");
	} finally {
		await Promise.all(all.map((client) => client.kill()));
	}
	await follower.catchUp();

	const { entries } = follower;
	const answers = all.flatMap((client) => client.answers);
	const failed = answers.filter(isFailed).length;
	if (!disturb && failed > 0) {
		const { reason } = answers.find(isFailed);
		throw new Error(`${failed} calls failed: ${reason}`);
	}
	const stored = await assertReplayed(entries, answers, { cache });
	return { kills, stored, failed, disturbed, entries: entries.length };
}

const TERMINATE_CONNECTIONS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** Kills the server, suspends it for longer than calls wait, and terminates its connections. */
async function crashing({ server }) {
	await sleep(2_000);
	await server.kill();
	await server.start();
	await sleep(2_000);
	server.freeze();
	await sleep(2_000);
	server.thaw();
	await sleep(2_000);
	await server.query(TERMINATE_CONNECTIONS);
}

async function postgres(t) {
	const server = await startPostgres();
	const pool = new pg.Pool(server.config()).on("error", () => {});
	t.after(async () => {
		await server.stop();
		await pool.end();
	});
	const store = new PostgresStore({ pool });
	await store.migrate();
	// A crash must not lose what was answered.
	return { server, store, opened: { postgres: server.config(), durable: true } };
}

async function assertNothingLost(t, setup, disturb) {
	const found = await repeatable("kills", () => underKills(setup, disturb));
	t.diagnostic(JSON.stringify(found));
}

test("killed processes neither lose nor repeat entries in a file", async (t) => {
	const opened = { path: temporaryFile() };
	const store = new SqliteStore(opened);
	t.after(() => store.close());
	await assertNothingLost(t, { store, opened });
	assert.deepEqual(
		{ ...change(opened.path, "PRAGMA integrity_check")[0] },
		{ integrity_check: "ok" },
	);
});

test("killed processes neither lose nor repeat entries in PostgreSQL", { skip }, async (t) =>
	assertNothingLost(t, await postgres(t)),
);

test(
	"processes that are killed and a server that fails lose and double nothing",
	{
		skip: skip ?? (!isLongRun && "only in a long run"),
	},
	async (t) => assertNothingLost(t, await postgres(t), crashing),
);
