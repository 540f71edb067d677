/** The recipe backfill.ts, with workers that are killed. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
	existsSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { missing as skip } from "../../packages/stores/__test__/support/postgres.mjs";
import { assertEqualsOneProcess, startFleet } from "./fleet.mjs";
import { read } from "./furnish.mjs";

const SHAPE = { projects: 3, parts: 3, runs: 40, env: { KNOWLEDGEPULSE_SCORING_NOVELTY: "words" } };

/** Lets jobs of dead workers be tried again at once, as if their last sign of life were long ago. */
const AGE =
	"UPDATE pgboss.job SET heartbeat_on = heartbeat_on - interval '1 minute' WHERE state = 'active'";

/** Makes a pipe of a log, so that its part begins and cannot end; returns its place and the log. */
function withhold(folder, part) {
	const path = join(folder, "logs", part);
	renameSync(path, `${path}.kept`);
	execFileSync("mkfifo", [path]);
	return path;
}

/** Waits until a part has rows. */
async function partial(folder, project) {
	const rows = join(folder, "rows", project);
	for (;;) {
		const name = existsSync(rows) && readdirSync(rows).find((name) => name.endsWith(".partial"));
		if (name && statSync(join(rows, name)).size > 0) return;
		await sleep(20);
	}
}

const statements = read("examples/recipes/backfill.sql")
	.split(/;$/m)
	.filter((sql) => sql.trim());

test("backfill.ts gives the bytes of one process when all workers are killed within a part, for queries of backfill.sql", {
	skip,
}, async (t) => {
	const fleet = await startFleet(t, SHAPE);
	const log = withhold(fleet.folder, "project-1/2026-11.jsonl");
	for (let place = 0; place < 4; place++) fleet.start();
	// Opens when a worker reads the pipe.
	const pipe = await open(log, "w");
	const text = readFileSync(`${log}.kept`, "utf8");
	await pipe.write(text.slice(0, text.length / 2));
	await partial(fleet.folder, "project-1");
	for (let place = 0; place < 4; place++) await fleet.kill(place);
	await pipe.close();
	renameSync(`${log}.kept`, log);
	await fleet.server.query(AGE);
	for (let place = 0; place < 4; place++) fleet.start(place);
	const { retries } = await fleet.finish();
	assert.ok(retries > 0);
	await assertEqualsOneProcess(fleet, { novelty: "words" });

	const [ofQueue, ofRows] = [statements.slice(0, 2), statements.slice(2)];
	const [[states], failed] = await Promise.all(ofQueue.map((sql) => fleet.server.query(sql)));
	assert.deepEqual([states, failed], [{ state: "completed", count: "9" }, []]);
	const database = await (await DuckDBInstance.create()).connect();
	await database.run(`SET file_search_path = '${fleet.home}'`);
	const found = [];
	for (const sql of ofRows) found.push((await database.runAndReadAll(sql)).getRowObjectsJson());
	const [projects, months, damages] = found;
	assert.deepEqual(
		projects.map(({ project, runs }) => [project, runs]).sort(),
		[0, 1, 2].map((project) => [`project-${project}`, "120"]),
	);
	assert.deepEqual(
		months.map(({ month }) => month.slice(0, 7)),
		["2026-10", "2026-11", "2026-12"],
	);
	assert.equal(damages.length, 9);
	for (const { lines, first } of damages)
		assert.deepEqual([lines, /invalid JSON/.test(first)], ["1", true]);

	// Files that are no logs are left out; of names that differ in their ending alone nothing is sent.
	const sent = async () => {
		const { problem, stderr } = await fleet.send();
		const jobs = await fleet.server.query("SELECT FROM pgboss.job WHERE name = 'backfill'");
		return { fails: problem !== null, stderr, jobs: jobs.length };
	};
	const logs = join(fleet.folder, "logs");
	const strange = join(logs, "project-0/.DS_Store");
	for (const path of [join(logs, ".DS_Store"), strange]) writeFileSync(path, "");
	assert.deepEqual(await sent(), { fails: false, stderr: `${strange}: no log\n`, jobs: 18 });
	const twice = join(logs, "project-0/2026-10.ndjson");
	writeFileSync(twice, "");
	const { stderr, ...refused } = await sent();
	assert.deepEqual(refused, { fails: true, jobs: 18 });
	assert.ok(
		stderr.includes(`${twice}: expected another name than 2026-10.jsonl without the ending`),
	);
});
