/** The recipe backfill.ts at work: generated logs, worker processes on PostgreSQL, and what one process makes of the logs. */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
	copyFileSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { startPostgres } from "../../packages/stores/__test__/support/postgres.mjs";
import { execute, startProgram } from "../../tools/lib/process.mjs";
import { draws } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { trace, words } from "../support/traces.mjs";
import { compile } from "../support/typescript.mjs";
import { checkout, read } from "./furnish.mjs";

/** How many runs a part keeps. */
const KEEP = 20;

/** A run of one of a few tasks, in a month of 2026. */
function run(draw, id, month, length) {
	const task = draw.below(40);
	const content = words(length, draw.below(2 ** 30));
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
function linesOf(project, part, { runs, length = 12 }) {
	const draw = draws(1000 * project + part + 1);
	const lines = Array.from({ length: runs }, (_, i) =>
		JSON.stringify(run(draw, `kp:trace:${project}-${part}-${i}`, 10 + part, length)),
	);
	// The first line of a file decides whether its values are on a line each.
	lines.splice(1 + draw.below(runs / 2 - 2), 0, '{"@type": "Reason');
	return lines.map((line) => `${line}\n`);
}

/** Writes the logs of each part: a file, or every third a folder of two. */
function writeLogs(folder, { projects, parts, ...options }) {
	for (let project = 0; project < projects; project++)
		for (let part = 0; part < parts; part++) {
			const lines = linesOf(project, part, options);
			const path = join(folder, "logs", `project-${project}`, `2026-${10 + part}`);
			mkdirSync(part % 3 === 2 ? path : join(path, ".."), { recursive: true });
			if (part % 3 < 2) writeFileSync(`${path}.jsonl`, lines.join(""));
			else
				for (const [half, name] of ["a.jsonl", "b.jsonl"].entries()) {
					const middle = Math.ceil(lines.length / 2);
					const some = half ? lines.slice(middle) : lines.slice(0, middle);
					writeFileSync(join(path, name), some.join(""));
				}
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

/**
 * Writes logs as `shape` says, with a job for each part on a server of its own. `env` has settings of the workers.
 */
export async function startFleet(t, { env, ...shape }) {
	const home = temporaryFolder(t);
	const folder = join(home, "backfill");
	const recipe = compiled(home);
	writeLogs(folder, shape);
	const server = await startPostgres();
	t.after(() => server.stop());
	const DATABASE_URL = `postgres://postgres@/postgres?host=${encodeURIComponent(server.folder)}`;
	const options = { env: { ...process.env, ...env, DATABASE_URL, KEEP: String(KEEP) } };
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
		start(place = workers.length) {
			workers[place] = startProgram(command("work"), options);
		},
		async kill(place) {
			const { child, output, stop } = workers[place];
			const ended = child.exitCode === null && child.signalCode === null && once(child, "close");
			stop();
			await ended;
			assert.equal(child.signalCode, "SIGKILL", output.stderr);
		},
		/** The number of jobs in each state, and of those that were tried again. */
		async jobs() {
			const rows = await server.query(
				"SELECT state, retry_count FROM pgboss.job WHERE name = 'backfill'",
			);
			const jobs = { retries: 0 };
			for (const { state, retry_count } of rows) {
				jobs[state] = (jobs[state] ?? 0) + 1;
				jobs.retries += retry_count;
			}
			return jobs;
		},
		/** Waits until all parts are done. */
		async finish() {
			for (;;) {
				const { completed = 0, failed = 0, ...jobs } = await this.jobs();
				for (const { output } of workers) assert.equal(output.stderr, "");
				assert.equal(failed, 0);
				if (completed === shape.projects * shape.parts) return { completed, ...jobs };
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
 * in between. `options` are those of the scorers.
 */
async function* expectedFiles(folder, options) {
	const reading = { assumeSuccess: true, errors: "collect" };
	for (const project of readdirSync(join(folder, "logs"))) {
		const scorer = new Scorer({ embedder: "required", ...options });
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
export async function assertEqualsOneProcess({ folder }, options) {
	const found = new Map(
		["rows", "kept", "snapshots"].flatMap((kind) =>
			[...filesIn(join(folder, kind))]
				.filter(([path]) => !path.endsWith(".partial"))
				.map(([path, bytes]) => [`${kind}/${path}`, bytes]),
		),
	);
	let count = 0;
	for await (const [path, bytes] of expectedFiles(folder, options)) {
		// Not deepEqual, which would print megabytes.
		assert.ok(found.get(path)?.equals(bytes), path);
		count += 1;
	}
	assert.equal(found.size, count);
}
