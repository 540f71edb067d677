/** The repairs and removals that docs/stores.md describes. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { DatabaseSync, temporaryFile } from "../sqlite/files.mjs";
import { callsOf, options } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

const NAMESPACE = "support-bots";

const repairOf = (folder) =>
	readFile(new URL(`../../${folder}/repair.sql`, import.meta.url), "utf8");

const vectorOf = (number) => Buffer.from(new Float32Array(384).fill(number).buffer).toString("hex");

/** Rows that scorers refuse, with their number if the repair needs it. */
const DAMAGES = [
	["a vector with NaN", (bytes) => `embedding = ${bytes(vectorOf(NaN))}`, 4],
	["a vector of another length", (bytes) => `embedding = ${bytes(vectorOf(1))}`, 4],
	["a vector of some bytes less", () => "embedding = substr(embedding, 1, 1532)", 4],
	["no vector and no id", () => "embedding = NULL, id = NULL", 4],
	["a time before 1970", () => "at = -5"],
	["a time that is too early", () => "at = 5"],
	["a time in 50 years", () => "at = at + 1577000000000"],
	["a time that is not a safe integer", () => "at = at + 1152921504606846976"],
];

/** Rows of eight that are deleted by hand, and the others. */
const DELETIONS = [
	["seq < 4", [4, 5, 6, 7, 8]],
	["seq = 4", [1, 2, 3, 5, 6, 7, 8]],
	["seq > 6", [1, 2, 3, 4, 5, 6]],
	["seq IN (2, 3, 6, 8)", [1, 4, 5, 7]],
	["true", []],
];

const { pool } = await startForStores({ after });

/** `make` makes an empty store, and a function that runs SQL on its tables. */
const STORES = {
	PostgreSQL: {
		skip: missing,
		table: "kp_novelty.entries",
		where: `namespace = '${NAMESPACE}'`,
		bytes: (hex) => `'\\x${hex}'`,
		async make() {
			const run = (sql) => pool.query(sql);
			await run("TRUNCATE kp_novelty.entries, kp_novelty.head");
			const open = (namespace) => new PostgresStore({ pool, namespace });
			return { store: open(NAMESPACE), other: open("other"), run };
		},
	},
	SQLite: {
		table: "novelty_entries",
		where: `namespace = (SELECT namespace FROM novelty_head WHERE name = '${NAMESPACE}')`,
		bytes: (hex) => `x'${hex}'`,
		make() {
			const path = temporaryFile();
			function run(sql) {
				const db = new DatabaseSync(path, { timeout: 5000 });
				db.exec(sql);
				db.close();
			}
			const open = (namespace) => new SqliteStore({ path, namespace });
			return { store: open(NAMESPACE), other: open("other"), run };
		},
	},
};

/** The entries of a store as if they were numbered from 1, and answers likewise. */
function fromOne(entries, answers) {
	const before = entries[0].seq - 1;
	const less = (one) => ({ ...one, seq: one.seq - before });
	return [entries.map(less), answers.map(less)];
}

/** A store with eight entries, `run` for its SQL, a scorer that has read them, and `open` for others. */
async function filled(make) {
	const { store, run } = await make();
	const open = () => new Scorer({ ...SCORER, storeMode: "required", store });
	const mirrored = open();
	for (let i = 0; i < 8; i++) await answerOf(mirrored, `words ${i} first`);
	return { store, run, open, mirrored };
}

for (const [name, { skip, table, where, bytes, make }] of Object.entries(STORES)) {
	for (const [deleted, kept] of DELETIONS)
		test(`a store on ${name} whose rows ${deleted} were deleted is read from what is there`, {
			skip,
		}, async () => {
			const { store, run, open, mirrored } = await filled(make);
			const calls = callsOf(await entriesOf(store));
			await run(`DELETE FROM ${table} WHERE ${where} AND ${deleted}`);
			const answers = [];
			for (const one of [open(), mirrored, open()])
				answers.push(await answerOf(one, `words 4 later ${answers.length}`));
			assert.deepEqual(
				answers.filter(({ error }) => error),
				[],
			);
			const entries = await entriesOf(store);
			assert.deepEqual(
				callsOf(entries).slice(0, -3),
				kept.map((seq) => calls[seq - 1]),
			);
			assert.equal(await assertReplayed(...fromOne(entries, answers)), 3);
			await store.close();
		});

	test(`a store on ${name} notices a missing row in a page that is not the last`, {
		skip,
	}, async () => {
		const { store, run } = await filled(make);
		const { header } = await store.read(options());
		await run(`DELETE FROM ${table} WHERE ${where} AND seq = 2`);
		const { first, entries } = await store.read(options({ header, limit: 3 }));
		assert.deepEqual(
			entries.map(({ seq }) => seq - first),
			[0, 1, 2],
		);
		await store.close();
	});

	for (const [damage, change, entry] of DAMAGES)
		test(`a store on ${name} with ${damage} can be repaired`, { skip }, async () => {
			const { store, run, open, mirrored } = await filled(make);
			await run(`UPDATE ${table} SET ${change(bytes)} WHERE ${where} AND seq = 4`);
			const answers = [];
			// A scorer that has read the entry no longer needs it, and must not hide it from others.
			if (entry) answers.push(await answerOf(mirrored, "words 4 mirrored"));
			const later = open();
			const { error } = await answerOf(later, "words 4 rejected");
			assert.equal(error?.code, "INVALID_STORE", error?.message);
			if (entry) assert.match(error.message, new RegExp(`\\bentry ${entry} of the store\\b`));

			const sql = await repairOf(name === "SQLite" ? "sqlite" : "postgres");
			await run(entry ? sql.replaceAll("4711", entry) : sql);
			for (const one of [mirrored, later, open()])
				answers.push(await answerOf(one, `words 4 repaired ${answers.length}`));
			const entries = await entriesOf(store);
			assert.equal(entries.length, 8 + answers.length);
			assert.equal(entries[3].kind, entry ? "forget" : "add");
			assert.ok(entries.at(-1).at - entries[0].at < 86_400_000, "times");
			assert.equal(await assertReplayed(entries, answers), answers.length);
			await store.close();
		});

	test(`a store on ${name} forgets what is older than a date, in all mirrors`, {
		skip,
	}, async () => {
		const { store, run, open, mirrored } = await filled(make);
		await run(`UPDATE ${table} SET at = at - 1000 * (9 - seq) WHERE ${where}`);
		const before = await entriesOf(store);
		const calls = callsOf(before);
		assert.equal(await store.forgetBefore(new Date(before[0].at)), 0);
		assert.equal(await store.forgetBefore(new Date(before[4].at)), 4);
		const answers = [
			await answerOf(mirrored, "words 2 later"),
			await answerOf(open(), "words 6 later"),
		];
		const entries = await entriesOf(store);
		assert.deepEqual(callsOf(entries).slice(0, -2), calls.slice(4));
		assert.equal(await assertReplayed(...fromOne(entries, answers)), 2);

		assert.equal(await store.forgetBefore(new Date(Date.now() + 1000)), 6);
		const { maxSimilarity } = await answerOf(mirrored, "words 2 at last");
		assert.equal(maxSimilarity, null);
		await store.close();
	});

	test(`a store on ${name} drops a namespace, its own or another one`, { skip }, async () => {
		const { store, other } = await make();
		const scorer = new Scorer({ ...SCORER, storeMode: "required", store: other });
		await answerOf(scorer, "words 1 other");
		await answerOf(new Scorer({ ...SCORER, store }), "words 1 own");
		assert.deepEqual(await store.namespaces(), [NAMESPACE, "other"].sort());
		assert.equal(await store.drop("other"), true);
		assert.equal(await store.drop("other"), false);
		assert.deepEqual(await store.namespaces(), [NAMESPACE]);
		assert.equal((await entriesOf(store)).length, 1);
		const { seq, maxSimilarity } = await answerOf(scorer, "words 1 again");
		assert.deepEqual([seq, maxSimilarity], [1, null]);
		assert.equal(await store.drop(NAMESPACE), true);
		await Promise.all([store.close(), other.close()]);
	});

	test(`a store on ${name} rejects dates and namespaces that are none`, { skip }, async () => {
		const { store } = await make();
		for (const date of [undefined, 5, "2026-01-01", new Date("x")])
			await assert.rejects(store.forgetBefore(date), { code: "INVALID_OPTION", path: "date" });
		for (const namespace of [undefined, "", 5, "a\0"])
			await assert.rejects(store.drop(namespace), { code: "INVALID_OPTION", path: "namespace" });
		const { signal } = { signal: AbortSignal.abort() };
		await assert.rejects(store.forgetBefore(new Date(0), { signal }), signal.reason);
		await assert.rejects(store.drop("other", { signal }), signal.reason);
		await assert.rejects(store.drop("other", { force: true }), { path: "force" });
		await assert.rejects(store.namespaces({ signal }), signal.reason);
		await store.close();
		await assert.rejects(store.drop("other"), { code: "CLOSED" });
	});
}
