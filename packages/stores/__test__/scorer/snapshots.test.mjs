/** Scorers that continue from a snapshot of their store. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { temporaryFolder } from "../../../../__test__/support/model-folder.mjs";
import { sharing, through } from "../../../../__test__/support/stores.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { answerOf, SCORER, traceOf } from "./replay.mjs";

// The vectors have another length than by default.
const OPTIONS = { ...SCORER, cache: { maxElements: 20 }, novelty: "run" };

const { pool } = await startForStores({ after });
const path = temporaryFile();

/** Each opens a handle on one store. */
const STORES = {
	MemoryStore: { open: sharing().open },
	SqliteStore: { open: () => new SqliteStore({ path }) },
	PostgresStore: { open: () => new PostgresStore({ pool }), skip: missing },
};

/** A store that counts the entries that it returns. */
function counting(store) {
	const count = async (call) => {
		const page = await call();
		counted.given += page.entries.length;
		return page;
	};
	const counted = Object.assign(through(store, { read: count, append: count }), { given: 0 });
	return counted;
}

/** A scorer on a store that has scored the traces from one number to another. */
async function filled(store, from, to, options = OPTIONS) {
	const scorer = new Scorer({ ...options, store });
	await evaluate(scorer, from, to);
	return scorer;
}

async function evaluate(scorer, from, to) {
	for (let i = from; i < to; i++) await scorer.evaluateValue(traceOf(`words ${i}`));
}

/** Fails unless both scorers give the same answers, bit for bit, without adding anything. */
async function assertSame(scorer, fresh) {
	for (let i = 0; i < 12; i++) {
		const [one, other] = await Promise.all(
			[scorer, fresh].map((asked) =>
				asked.explainValue(traceOf(`words ${i}`), { remember: false }),
			),
		);
		assert.deepEqual([one.score, one.novelty], [other.score, other.novelty]);
	}
}

for (const [name, { open, skip }] of Object.entries(STORES))
	test(`Scorer reads of a ${name} only what came after its snapshot, and scores as one that reads everything`, {
		skip,
	}, async (t) => {
		const file = join(temporaryFolder(t), "novelty.kpcache");
		const first = await Scorer.open(file, { ...OPTIONS, store: open() });
		await evaluate(first, 0, 25);
		assert.equal(first.status().store.isResumed, false);
		await first.save(file);
		await evaluate(first, 25, 28);
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

test("Scorer reads everything with a snapshot of another store, of other bounds, or of no store", async () => {
	const { open } = sharing();
	const first = await filled(open(), 0, 5);
	for (const source of [
		await filled(sharing().open(), 30, 39),
		await filled(sharing().open(), 0, 5, { ...OPTIONS, cache: { maxElements: 3 } }),
		await filled(undefined, 0, 5),
	]) {
		const store = counting(open());
		const scorer = await Scorer.restore(await source.snapshot(), { ...OPTIONS, store });
		await scorer.warmup();
		assert.equal(store.given, 5);
		assert.equal(scorer.status().store.isResumed, false);
		await assertSame(scorer, first);
	}
});

test("Scorer without a store goes on with the snapshot of one with a store", async () => {
	const first = await filled(sharing().open(), 0, 25);
	const alone = await Scorer.restore(await first.snapshot(), { novelty: OPTIONS.novelty });
	assert.equal(alone.cache.size, 20);
	const { novelty } = await alone.explainValue(traceOf("words 24"));
	assert.equal(novelty.nearest, "words 24");
});
