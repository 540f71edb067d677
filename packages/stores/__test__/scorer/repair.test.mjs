/** The repairs that docs/shared-novelty.md describes. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { temporaryFile } from "../sqlite/files.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

const DOCS = new URL("../../../../docs/shared-novelty.md", import.meta.url);
const NAMESPACE = "support-bots";

/** Returns the SQL in the docs that repairs entries of a table. */
async function repairOf(table) {
	const blocks = (await readFile(DOCS, "utf8")).matchAll(/```sql\n([^`]*)```/g);
	const [found] = [...blocks].filter(([, sql]) => sql.includes(`UPDATE ${table} `));
	assert.ok(found, `no repair of ${table}`);
	return found[1];
}

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

const postgres = {
	name: "PostgreSQL",
	table: "kp_novelty_entries",
	where: `namespace = '${NAMESPACE}'`,
	bytes: (hex) => `'\\x${hex}'`,
	async start() {
		const server = await startPostgres();
		const pool = new pg.Pool(server.config());
		const run = (sql) => pool.query(sql);
		return {
			async open() {
				await run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
				const openStore = () => new PostgresStore({ pool, namespace: NAMESPACE, migrate: true });
				return { openStore, run };
			},
			async stop() {
				await pool.end();
				await server.stop();
			},
		};
	},
};

const sqlite = {
	name: "SQLite",
	table: "novelty_entries",
	where: `namespace = (SELECT namespace FROM novelty_head WHERE name = '${NAMESPACE}')`,
	bytes: (hex) => `x'${hex}'`,
	async start() {
		return {
			async open() {
				const path = temporaryFile();
				const openStore = () => new SqliteStore({ path, namespace: NAMESPACE });
				function run(sql) {
					const db = new DatabaseSync(path, { timeout: 5000 });
					db.exec(sql);
					db.close();
				}
				return { openStore, run };
			},
			stop() {},
		};
	},
};

for (const { name, skip, table, where, bytes, start } of [{ ...postgres, skip: missing }, sqlite])
	describe(`repair on ${name}`, { skip }, () => {
		let started;
		before(async () => {
			started = await start();
		});
		after(() => started?.stop());

		for (const [damage, change, entry] of DAMAGES)
			test(`a store on ${name} with ${damage} can be repaired as the docs say`, async () => {
				const { openStore, run } = await started.open();
				const stores = [];
				const open = () => {
					stores.push(openStore());
					return new Scorer({ ...SCORER, storeMode: "required", store: stores.at(-1) });
				};
				const mirrored = open();
				for (let i = 0; i < 8; i++) await answerOf(mirrored, `words ${i} first`);
				await run(`UPDATE ${table} SET ${change(bytes)} WHERE ${where} AND seq = 4`);
				const later = open();
				const { error } = await answerOf(later, "words 4 rejected");
				assert.equal(error?.code, "INVALID_STORE", error?.message);
				if (entry) assert.match(error.message, new RegExp(`\\bentry ${entry} of the store\\b`));

				const sql = await repairOf(table);
				await run(entry ? sql.replace("4711", entry) : sql);
				const answers = [];
				for (const one of [mirrored, later, open()])
					answers.push(await answerOf(one, `words 4 repaired ${answers.length}`));
				const entries = await entriesOf(stores[0]);
				assert.equal(entries.length, 11);
				assert.equal(entries[3].kind, entry ? "forget" : "add");
				assert.ok(entries[10].at - entries[0].at < 86_400_000, "times");
				assert.equal(await assertReplayed(entries, answers), 3);
				for (const store of stores) await store.close();
			});
	});
