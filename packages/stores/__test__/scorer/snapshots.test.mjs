/** Scorers that continue from a snapshot of their store. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { temporaryFolder } from "../../../../__test__/support/model-folder.mjs";
import { MemoryStore } from "../conformance/memory-store.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { startPglite } from "../support/pglite.mjs";
import { answerOf, SCORER, traceOf } from "./replay.mjs";

const OPTIONS = { ...SCORER, cache: { maxElements: 20 } };

const { config, stop } = await startPglite();
const pool = new pg.Pool(config);
after(async () => {
	await pool.end();
	await stop();
});
await new PostgresStore({ pool }).migrate();

const namespaces = new Map();
const path = temporaryFile();

/** Each opens a handle on the store of a namespace. */
const STORES = {
	MemoryStore: (namespace) => new MemoryStore({ namespaces, namespace }),
	SqliteStore: (namespace) => new SqliteStore({ path, namespace }),
	PostgresStore: (namespace) => new PostgresStore({ pool, namespace }),
};

/** A store that counts the entries that it returns. */
function counting(store) {
	const counted = { given: 0 };
	for (const method of ["read", "append"])
		counted[method] = async (...args) => {
			const page = await store[method](...args);
			counted.given += page.entries.length;
			return page;
		};
	return counted;
}

async function evaluate(scorer, ids) {
	for (const id of ids) await scorer.evaluateValue(traceOf(id));
}

const ids = (from, to) => Array.from({ length: to - from }, (_, index) => `words ${from + index}`);

/** Fails unless both scorers give the same answers, bit for bit, without adding anything. */
async function assertSame(scorer, fresh) {
	for (const id of ids(0, 12)) {
		const [one, other] = await Promise.all(
			[scorer, fresh].map((asked) => asked.explainValue(traceOf(id), { remember: false })),
		);
		assert.deepEqual([one.score, one.novelty], [other.score, other.novelty]);
	}
}

for (const [name, openIn] of Object.entries(STORES))
	describe(`a scorer with a ${name}`, () => {
		/** Makes a store; returns a function that opens a handle on it. */
		const make = () => {
			const namespace = randomUUID();
			return () => openIn(namespace);
		};

		test("reads only what came after its snapshot, and scores as one that reads everything", async (t) => {
			const open = make();
			const file = join(temporaryFolder(t), "novelty.kpcache");
			const first = await Scorer.open(file, { ...OPTIONS, store: open() });
			await evaluate(first, ids(0, 25));
			assert.equal(first.status().store.isResumed, false);
			await first.save(file);
			await evaluate(first, ids(25, 28));
			await first.forget("words 20");
			const store = counting(open());
			const scorer = await Scorer.open(file, { ...OPTIONS, store });
			await scorer.warmup();
			assert.equal(store.given, 4);
			assert.equal(scorer.status().store.isResumed, true);
			await assertSame(scorer, new Scorer({ ...OPTIONS, store: open() }));
			assert.equal((await answerOf(scorer, "words 40")).source, "store");
			assert.equal(scorer.status().store.seq, 30);
		});

		test("reads everything where the store no longer has the last entry of its snapshot", async () => {
			const open = make();
			const first = new Scorer({ ...OPTIONS, store: open() });
			await evaluate(first, ids(0, 5));
			const snapshot = await first.snapshot();
			await evaluate(first, ids(5, 9));
			const other = make();
			const second = new Scorer({ ...OPTIONS, store: other() });
			await evaluate(second, ids(30, 33));
			const store = counting(other());
			const scorer = await Scorer.restore(snapshot, { ...OPTIONS, store });
			await scorer.warmup();
			assert.equal(store.given, 3);
			assert.equal(scorer.status().store.isResumed, false);
			await assertSame(scorer, second);
		});

		test("reads everything with a snapshot of other bounds, or of no store", async () => {
			const open = make();
			const first = new Scorer({ ...OPTIONS, store: open() });
			await evaluate(first, ids(0, 5));
			const other = make()();
			const bounds = new Scorer({ ...SCORER, cache: { maxElements: 3 }, store: other });
			const none = new Scorer(OPTIONS);
			for (const source of [bounds, none]) {
				await evaluate(source, ids(0, 5));
				const store = counting(open());
				const scorer = await Scorer.restore(await source.snapshot(), { ...OPTIONS, store });
				await scorer.warmup();
				assert.equal(store.given, 5);
				assert.equal(scorer.status().store.isResumed, false);
				await assertSame(scorer, first);
			}
		});

		test("gives a snapshot that a scorer without a store goes on with", async () => {
			const open = make();
			const first = new Scorer({ ...OPTIONS, store: open() });
			await evaluate(first, ids(0, 25));
			const alone = await Scorer.restore(await first.snapshot());
			assert.equal(alone.cache.size, 20);
			const { novelty } = await alone.explainValue(traceOf("words 24"));
			assert.equal(novelty.nearest, "words 24");
		});
	});
