/** Fifty contexts that load the package at the same time. Runs in child processes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import vm from "node:vm";
import { Worker } from "node:worker_threads";
import { loadInContext } from "../support/contexts.mjs";
import { says, words } from "../support/traces.mjs";
import { ended, startWorker, tells } from "../support/workers.mjs";

const CONTEXTS = 50;

/** Starts workers that score long texts. */
function start(seed) {
	return Array.from({ length: CONTEXTS }, (_, index) =>
		startWorker([says(words(300, seed + index)), says(words(3, index))], "return"),
	);
}

/** Imports in all workers at the same time; their scores must be those of the main thread. */
export async function score({ scoring, input }) {
	const traces = [3, 400, 40].map((count, index) => says(words(count, input.seed + index)));
	const workers = Array.from({ length: CONTEXTS }, () => ended(startWorker(traces, "scores")));
	const here = await new scoring.Scorer().evaluateValues(traces);
	for (const { code, message, told } of await Promise.all(workers)) {
		assert.deepEqual([code, message], [0, undefined]);
		assert.deepEqual(told.at(-1).scores, here);
	}
}

/** Terminates all workers when the first has come to `moment`. */
export async function terminate({ input: { seed, moment, delay } }) {
	const workers = start(seed);
	const endings = workers.map(ended);
	await Promise.race(workers.map((worker) => tells(worker, moment)));
	await sleep(delay);
	await Promise.all(workers.map((worker) => worker.terminate()));
	for (const { message } of await Promise.all(endings)) assert.equal(message, undefined);
}

/** Exits when the first worker has come to `moment`. */
export async function exit({ input: { seed, moment, delay }, send }) {
	await Promise.race(start(seed).map((worker) => tells(worker, moment)));
	await sleep(delay);
	send("exit");
	process.exit(7);
}

/** Exits with fifty workers that do not load the package. */
export async function exitIdle({ send }) {
	const code = 'require("worker_threads").parentPort.on("message", () => {}).postMessage("up")';
	const workers = Array.from(
		{ length: CONTEXTS },
		() => new Worker(code, { eval: true, execArgv: [] }),
	);
	await Promise.race(workers.map((worker) => once(worker, "message")));
	send("exit");
	process.exit(7);
}

/** Scores in contexts of `vm`, each with modules and traces of its own. */
export async function scoreInContexts({ scoring, input }) {
	const traces = [3, 90].map((count, index) => says(words(count, input.seed + index)));
	const here = await new scoring.Scorer().evaluateValues(traces);
	const contexts = Array.from({ length: CONTEXTS }, loadInContext);
	const json = JSON.stringify(traces);
	const scores = await Promise.all(
		contexts.map(({ context, scoring }) =>
			new scoring.Scorer().evaluateValues(vm.runInContext("JSON.parse", context)(json)),
		),
	);
	for (const found of scores) assert.deepEqual([...found], here);
}
