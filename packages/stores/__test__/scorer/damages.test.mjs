import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { missing, startForStores } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

const { pool } = await startForStores({ after });

/** Changes of a namespace with eight entries, and how many of these are left. */
const DAMAGES = [
	["its tail was deleted", ["DELETE FROM kp_novelty.entries WHERE seq > 5 AND"], 5],
	[
		"its tail was deleted, also in the head",
		[
			"DELETE FROM kp_novelty.entries WHERE seq > 5 AND",
			"UPDATE kp_novelty.head SET seq = 5 WHERE",
		],
		5,
	],
	["its head was deleted", ["DELETE FROM kp_novelty.head WHERE"], 8],
	["all entries were deleted", ["DELETE FROM kp_novelty.entries WHERE"], 0],
	[
		"it was deleted",
		["DELETE FROM kp_novelty.entries WHERE", "DELETE FROM kp_novelty.head WHERE"],
		0,
	],
];

for (const [name, changes, kept] of DAMAGES)
	for (const others of [0, 1, 9])
		test(`Scorer begins anew after ${name} and ${others} calls of another`, {
			skip: missing,
		}, async () => {
			const namespace = `${name} ${others}`;
			const store = new PostgresStore({ pool, namespace });
			const [mirror, other] = [new Scorer({ ...SCORER, store }), new Scorer({ ...SCORER, store })];
			const answers = [];
			for (let i = 0; i < 8; i++) answers.push(await answerOf(mirror, `words ${i} first`));
			for (const change of changes) await pool.query(`${change} namespace = $1`, [namespace]);
			answers.splice(kept);
			for (let i = 0; i < others; i++) answers.push(await answerOf(other, `words ${7 - i} other`));
			for (let i = 0; i < 3; i++) answers.push(await answerOf(mirror, `words 7 mirror ${i}`));
			answers.push(await answerOf(other, "words 7 other again"));
			const expected = kept + others + 4;
			assert.equal(await assertReplayed(await entriesOf(store), answers), expected);
			assert.equal(mirror.status().cacheSize, expected - 1);
		});
