/**
 * Measures the recipe backfill.ts: node benchmark/backfill.mjs [--runs 500] [--parts 8]
 *
 * Scores as many parts, each of a project of its own, with one worker and with four, on a PostgreSQL that it starts. The
 * queue's share is the time between the jobs of the one worker. Then says what a million such runs would take.
 */
import { readdirSync, statSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFleet } from "../__test__/docs/fleet.mjs";

const { runs, parts } = parseArgs({
	options: {
		runs: { type: "string", default: "500" },
		parts: { type: "string", default: "8" },
	},
}).values;

/** Of the longest step of a run. */
const WORDS = 100;

const TIMES = `SELECT extract(epoch FROM started_on) * 1000 AS began, extract(epoch FROM completed_on) * 1000 AS ended
	FROM pgboss.job WHERE name = 'backfill' ORDER BY started_on`;

const bytesIn = (folder) =>
	readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

/** Returns the seconds from the first job's beginning to the last one's end, the share without a job, and bytes by folder. */
async function measured(workers) {
	const cleanups = [];
	const after = (end) => cleanups.push(end);
	try {
		const shape = { projects: Number(parts), parts: 1, runs: Number(runs), length: WORDS };
		const fleet = await startFleet({ after }, shape);
		for (let place = 0; place < workers; place++) fleet.start();
		await fleet.finish();
		const jobs = (await fleet.server.query(TIMES)).map(({ began, ended }) => [+began, +ended]);
		const all = Math.max(...jobs.map(([, ended]) => ended)) - jobs[0][0];
		const working = jobs.reduce((sum, [began, ended]) => sum + ended - began, 0);
		const folders = ["logs", "rows", "kept", "snapshots"];
		const bytes = folders.map((name) => [name, bytesIn(join(fleet.folder, name))]);
		return { seconds: all / 1000, share: 1 - working / all, bytes: Object.fromEntries(bytes) };
	} finally {
		for (const end of cleanups.reverse()) await end();
	}
}

console.log(`${availableParallelism()} cores of ${cpus()[0].model}, Node.js ${process.version}`);
const one = await measured(1);
const four = await measured(4);
console.log(
	`1 worker: ${one.seconds.toFixed(1)} s, of which the queue ${(100 * one.share).toFixed(1)}%`,
);
console.log(
	`4 workers: ${four.seconds.toFixed(1)} s, ${(one.seconds / four.seconds).toFixed(2)} times as fast`,
);

const million = 1e6 / (Number(runs) * Number(parts));
const hours = ({ seconds }) => `${((seconds * million) / 3600).toFixed(1)} h`;
const megabytes = (name, times) => `${((one.bytes[name] * times) / 1e6).toFixed(1)} MB`;
console.log(`
a million runs   1 worker ${hours(one)}, 4 workers ${hours(four)}
their logs       ${megabytes("logs", million)}
their rows       ${megabytes("rows", million)}
of each part     ${megabytes("kept", 1 / parts)} kept, snapshot ${megabytes("snapshots", 1 / parts)}`);
process.exit();
