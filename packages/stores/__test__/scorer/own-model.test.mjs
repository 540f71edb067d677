import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteNoveltyLog } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { modelFolder } from "../../../../__test__/support/own-models.mjs";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

/** A model of 48 numbers. */
const MODEL = { model: modelFolder("bert"), embedder: "required" };

async function assertShared(open) {
	const logs = [open(), open()];
	const scorers = logs.map((store) => new Scorer({ ...SCORER, ...MODEL, store }));
	const answers = [];
	for (let number = 0; number < 30; number++)
		answers.push(await answerOf(scorers[number % 2], `words ${number % 11} ${number}`));
	const entries = await entriesOf(logs[0]);
	assert.equal(entries[0].embedding.length, 4 * 48);
	assert.equal(await assertReplayed(entries, answers, MODEL), 30);
	for (const scorer of scorers) scorer.close();
	await Promise.all(logs.map((log) => log.close()));
}

test("SqliteNoveltyLog takes the vectors of a model of the user's own", () => {
	const path = temporaryFile();
	return assertShared(() => new SqliteNoveltyLog({ path }));
});

test("PostgresNoveltyLog takes the vectors of a model of the user's own", {
	skip: missing,
}, async (t) => {
	const server = await startPostgres();
	const pool = new pg.Pool(server.config());
	t.after(async () => {
		await pool.end();
		await server.stop();
	});
	await new PostgresNoveltyLog({ pool }).migrate();
	await assertShared(() => new PostgresNoveltyLog({ pool }));
});
