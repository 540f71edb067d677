import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { modelFolder } from "../../../../__test__/support/own-models.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

/** A model of 48 numbers. */
const MODEL = { model: modelFolder("bert"), precision: "exact", embedder: "required" };

async function assertShared(open) {
	const stores = [open(), open()];
	const scorers = stores.map((store) => new Scorer({ ...SCORER, ...MODEL, store }));
	const answers = [];
	for (let number = 0; number < 30; number++)
		answers.push(await answerOf(scorers[number % 2], `words ${number % 11} ${number}`));
	const entries = await entriesOf(stores[0]);
	assert.equal(entries[0].embedding.length, 4 * 48);
	assert.equal(await assertReplayed(entries, answers, MODEL), 30);
	for (const scorer of scorers) scorer.close();
	await Promise.all(stores.map((store) => store.close()));
}

test("SqliteStore takes the vectors of a model of the user's own", () => {
	const path = temporaryFile();
	return assertShared(() => new SqliteStore({ path }));
});

test("PostgresStore takes the vectors of a model of the user's own", {
	skip: missing,
}, async (t) => {
	const { pool } = await startForStores({ after: (end) => t.after(end) });
	await assertShared(() => new PostgresStore({ pool }));
});
