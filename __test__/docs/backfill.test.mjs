/** The recipe backfill.ts, with workers that are killed: generated logs, PostgreSQL, and what one process makes of the logs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import {
	missing as skip,
	startPostgres,
} from "../../packages/stores/__test__/support/postgres.mjs";
import { execute, startProgram } from "../../tools/lib/process.mjs";
import { draws } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { trace, words } from "../support/traces.mjs";
import { compile } from "../support/typescript.mjs";
import { checkout, read } from "./furnish.mjs";

/** The projects, the parts of each, its runs, and how many of them are kept. */
const [PROJECTS, PARTS, RUNS, KEEP] = [3, 3, 40, 20];

/** A run of one of a few tasks, in a month of 2026. */
function run(draw, id, month) {
	const task = draw.below(40);
	const content = words(12, draw.below(2 ** 30));
	const one = {
		...trace({
			objective: `Task ${task}: ${words(6, task)}`,
			success: draw.below(3) > 0,
			confidence: draw.number(),
			steps: [
				{ step_id: 0, type: "thought", content: `It is ${draw.below(9)}` },
				{ step_id: 1, type: "tool_call", tool: { name: `tool ${draw.below(5)}` } },
				{ step_id: 2, type: "observation", content },
			],
		}),
		id,
	};
	one.metadata.created_at = `2026-${month}-${10 + draw.below(18)}T12:00:00Z`;
	return one;
}

/** The lines of a part, with one that is damaged. */
function linesOf(project, part) {
	const draw = draws(1000 * project + part + 1);
	const lines = Array.from({ length: RUNS }, (_, i) =>
		JSON.stringify(run(draw, `kp:trace:${project}-${part}-${i}`, 10 + part)),
	);
	// The first line of a file decides whether its values are on a line each.
	lines.splice(1 + draw.below(RUNS / 2 - 2), 0, '{"@type": "Reason');
	return lines.map((line) => `${line}\n`);
}

/** Writes the logs of each part: a file, or every third a folder of two. */
function writeLogs(folder) {
	for (let project = 0; project < PROJECTS; project++)
		for (let part = 0; part < PARTS; part++) {
			const lines = linesOf(project, part);
			const path = join(folder, "logs", `project-${project}`, `2026-${10 + part}`);
			mkdirSync(part % 3 === 2 ? path : join(path, ".."), { recursive: true });
			const middle = Math.ceil(lines.length / 2);
			const files =
				part % 3 < 2
					? { ".jsonl": lines }
					: { "/a.jsonl": lines.slice(0, middle), "/b.jsonl": lines.slice(middle) };
			for (const [end, some] of Object.entries(files)) writeFileSync(path + end, some.join(""));
		}
}

/** The recipe in JavaScript, in a folder with the packages of the checkout. */
function compiled(folder) {
	writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
	symlinkSync(join(checkout, "node_modules"), join(folder, "node_modules"), "junction");
	copyFileSync(join(checkout, "examples/recipes/backfill.ts"), join(folder, "backfill.ts"));
	const { noEmit, ...options } = JSON.parse(read("__test__/tsconfig.json")).compilerOptions;
	assert.equal(compile(folder, { ...options, skipLibCheck: true }), "");
	return join(folder, "backfill.js");
}

/** Writes logs, with a job for each part on a server of its own. */
async function startFleet(t) {
	const home = temporaryFolder(t);
	const folder = join(home, "backfill");
	const recipe = compiled(home);
	writeLogs(folder);
	const server = await startPostgres();
	t.after(() => server.stop());
	const DATABASE_URL = `postgres://postgres@/postgres?host=${encodeURIComponent(server.folder)}`;
	const settings = { KNOWLEDGEPULSE_SCORING_NOVELTY: "words", DATABASE_URL, KEEP: String(KEEP) };
	const options = { env: { ...process.env, ...settings } };
	const command = (name) => [process.execPath, recipe, name, folder];
	const send = () => execute(command("send"), options);
	const { problem, stderr } = await send();
	assert.equal(problem, null, stderr);
	const workers = [];
	t.after(() => workers.map((worker) => worker.stop()));
	return {
		home,
		folder,
		send,
		server,
		/** Starts a worker in the place of one that was killed. */
		start(place) {
			workers[place] = startProgram(command("work"), options);
		},
		async kill(place) {
			const { child, output, stop } = workers[place];
			const ended = child.exitCode === null && child.signalCode === null && once(child, "close");
			stop();
			await ended;
			assert.equal(child.signalCode, "SIGKILL", output.stderr);
		},
		/** Waits until all parts are done; returns how many jobs were tried again. */
		async finish() {
			for (;;) {
				const jobs = await server.query(
					"SELECT state, retry_count FROM pgboss.job WHERE name = 'backfill'",
				);
				for (const { output } of workers) assert.equal(output.stderr, "");
				assert.ok(jobs.every(({ state }) => state !== "failed"));
				if (jobs.filter(({ state }) => state === "completed").length === PROJECTS * PARTS)
					return jobs.reduce((sum, { retry_count }) => sum + retry_count, 0);
				await sleep(200);
			}
		},
	};
}

/** The files below a folder, by their paths in it. */
const filesIn = (folder) =>
	new Map(
		readdirSync(folder, { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isFile())
			.map(({ parentPath, name }) => join(parentPath, name))
			.sort()
			.map((path) => [relative(folder, path), readFileSync(path)]),
	);

/** The logs of each part of a project, in order. */
const partsOf = (folder, project) =>
	readdirSync(join(folder, "logs", project))
		.sort()
		.map((name) => {
			const path = join(folder, "logs", project, name);
			const logs = name.endsWith(".jsonl")
				? [path]
				: readdirSync(path).map((file) => join(path, file));
			return { name: name.replace(".jsonl", ""), logs };
		});

const lines = (values) => Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));

const damageOf = ({ code, source, line, message }) => ({ code, source, line, message });

/**
 * What a fleet writes, by the path: made by one process, with one scorer for all parts of a project, without snapshots
 * in between.
 */
async function* expectedFiles(folder) {
	const reading = { assumeSuccess: true, errors: "collect" };
	for (const project of readdirSync(join(folder, "logs"))) {
		const scorer = new Scorer({ embedder: "required", novelty: "words" });
		for (const { name, logs } of partsOf(folder, project)) {
			const rows = [];
			for await (const row of scorer.evaluateLogs(logs, reading))
				rows.push(row.error ? { error: damageOf(row.error) } : row);
			const found = [];
			for await (const { trace } of importTraces(logs, reading)) if (trace) found.push(trace);
			const kept = await scorer.select(found, { count: KEEP });
			const stand = kept
				.sort((one, other) => one.index - other.index)
				.map(({ index, standsFor, covers }) => {
					const metadata = {
						...found[index].metadata,
						...(standsFor && { stands_for: standsFor, covers }),
					};
					return { ...found[index], metadata };
				});
			yield [`rows/${project}/${name}.jsonl`, lines(rows)];
			yield [`kept/${project}/${name}.jsonl`, lines(stand)];
			yield [`snapshots/${project}/${name}.kpcache`, await scorer.snapshot({ ages: false })];
		}
		scorer.close();
	}
}

/** Fails unless a fleet has written the bytes of one process, and nothing else. */
async function assertEqualsOneProcess({ folder }) {
	const found = new Map(
		["rows", "kept", "snapshots"].flatMap((kind) =>
			[...filesIn(join(folder, kind))]
				// A killed worker leaves what it was writing.
				.filter(([path]) => !/\.(partial|tmp)$/.test(path))
				.map(([path, bytes]) => [`${kind}/${path}`, bytes]),
		),
	);
	let count = 0;
	for await (const [path, bytes] of expectedFiles(folder)) {
		// Not deepEqual, which would print megabytes.
		assert.ok(found.get(path)?.equals(bytes), path);
		count += 1;
	}
	assert.equal(found.size, count);
}

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
	const fleet = await startFleet(t);
	const log = withhold(fleet.folder, "project-1/2026-11.jsonl");
	for (let place = 0; place < 4; place++) fleet.start(place);
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
	assert.ok((await fleet.finish()) > 0, "tried again");
	await assertEqualsOneProcess(fleet);

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
