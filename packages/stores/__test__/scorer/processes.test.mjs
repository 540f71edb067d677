import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { draws, repeatable, repeats, seed } from "../../../../__test__/support/draws.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { askAll, ClientProcess } from "./processes.mjs";
import { assertReplayed, entriesOf, runs } from "./replay.mjs";

const PROCESSES = 8;
const ROUNDS = { postgres: repeats(3), sqlite: repeats(1) };
/** How often all processes score the same trace at once. */
const AT_ONCE = repeats(20);

const { server, pool } = await startForStores({ after });

describe("processes", () => {
	const clients = [];
	before(() => {
		for (let i = 0; i < PROCESSES; i++) clients.push(new ClientProcess());
	});
	after(() => Promise.all(clients.map((client) => client.kill())));

	const draw = draws(seed);
	// At most two processes score a run, and each embeds it once.
	const homes = runs.map(() => [draw.below(PROCESSES), draw.below(PROCESSES)]);

	/** Scores all runs in a namespace for each round; `openStore` opens one in this process. */
	async function assertRounds(rounds, storeOf, openStore) {
		for (let round = 0; round < rounds; round++) {
			const namespace = `round ${round}`;
			await repeatable(namespace, () => assertRound(storeOf(namespace), openStore(namespace)));
		}
	}

	/** Scores all runs, distributed at random; `store` is a handle on the store at a place. */
	async function assertRound(place, store) {
		// In some rounds the cache is smaller than the number of runs.
		const cache = { maxElements: draw.of([10, 60, 1000]) };
		await askAll(clients, "open", place, { cache });
		const hands = clients.map(() => []);
		for (const run of runs.keys()) {
			const hand = hands[draw.of(homes[run])];
			hand.splice(draw.below(20), 0, `run ${run}`);
		}
		const answers = await Promise.all(
			clients.map((client, i) => client.ask("score", hands[i], draw.of([1, 4, 100]))),
		);
		const entries = await entriesOf(store);
		await store.close();
		assert.equal(entries.length, runs.length);
		const stored = await assertReplayed(entries, answers.flat(), { cache });
		assert.equal(stored, runs.length);
	}

	describe("with PostgreSQL", { skip: missing }, () => {
		const storeOf = (namespace) => ({ postgres: server.config(), namespace });
		const openStore = (namespace) => new PostgresStore({ pool, namespace });

		test("eight processes that share a store give the scores of one without a store", () =>
			assertRounds(ROUNDS.postgres, storeOf, openStore));

		test("of eight processes that score a new trace at once, one finds it new", async () => {
			await askAll(clients, "open", storeOf("at once"));
			const all = [];
			for (let round = 0; round < AT_ONCE; round++) {
				const ids = clients.map((_, i) => `words ${round} of client ${i}`);
				await askAll(clients, "embed", [ids[0]]);
				const answers = await Promise.all(
					clients.map((client, i) => client.ask("score", [ids[i]])),
				);
				const sorted = answers.flat().sort((a, b) => a.seq - b.seq);
				const isNew = sorted.map(({ nearest }) => !ids.includes(nearest));
				assert.deepEqual(
					isNew,
					ids.map((_, place) => place === 0),
				);
				assert.equal(sorted[0].maxSimilarity === null, round === 0);
				for (const { maxSimilarity } of sorted.slice(1)) assert.ok(maxSimilarity > 0.9999);
				all.push(...sorted);
			}
			assert.deepEqual(
				all.map(({ seq }) => seq),
				Array.from({ length: AT_ONCE * PROCESSES }, (_, i) => i + 1),
			);
			const entries = await entriesOf(openStore("at once"));
			await assertReplayed(entries, all);
		});
	});

	test("eight processes that share a file give the scores of one without a store", async () => {
		const path = temporaryFile();
		const storeOf = (namespace) => ({ path, namespace });
		await assertRounds(ROUNDS.sqlite, storeOf, (name) => new SqliteStore(storeOf(name)));
	});
});
