/** Terminates workers, four at a time, while the main thread scores. Runs in a process of its own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { says, words } from "../../../__test__/support/traces.mjs";
import { ended, startWorker, tells } from "../../../__test__/support/workers.mjs";
import { draws } from "../lib/draw.mjs";

const AT_ONCE = 4;

/** When a worker is terminated: waits for that. */
const MOMENTS = {
	import: async (worker, { below, of }) => {
		await of([() => once(worker, "online"), () => tells(worker, "imported")])();
		await sleep(below(30));
	},
	load: async (worker, { below }) => {
		await tells(worker, "called");
		await sleep(below(200));
	},
	inference: async (worker, { below }) => {
		await tells(worker, "scored");
		await sleep(below(50));
	},
};
export const moments = Object.keys(MOMENTS);

/** Terminates one worker; returns how long that took in milliseconds, and how the worker ended. */
async function terminateOne({ moment, draw, traces }) {
	// A model that no other scorer uses is loaded, and freed when the worker has ended.
	const options = moment === "load" ? { threads: 1, precision: "fast" } : undefined;
	const worker = startWorker(traces, "return", options);
	const ending = ended(worker);
	await MOMENTS[moment](worker, draw);
	const asked = performance.now();
	await worker.terminate();
	const took = performance.now() - asked;
	const { code, message, told } = await ending;
	return { code, message, took, scored: told.includes("scored") };
}

/**
 * Terminates `rounds` times four workers at `moment`. Returns how each ended, and how many scores the
 * main thread got meanwhile.
 */
export async function terminating(scoring, { moment, rounds, seed }) {
	const draw = draws(seed);
	const text = (count) => says(words(count, draw.below(2 ** 30)));
	const expected = new Map();
	const endings = [];
	let isOver = false;
	let scored = 0;

	async function scoreMeanwhile() {
		const scorer = new scoring.Scorer();
		const reference = new scoring.Scorer();
		while (!isOver) {
			const trace = text(40);
			const score = await scorer.evaluateValue(trace);
			expected.set(trace, score);
			scored += 1;
			await sleep(5);
		}
		for (const [trace, score] of expected)
			assert.equal(await reference.evaluateValue(trace), score);
	}

	const meanwhile = scoreMeanwhile();
	for (let round = 0; round < rounds; round++) {
		const workers = Array.from({ length: AT_ONCE }, () => {
			const traces = Array.from({ length: 30 }, () => text(400));
			return terminateOne({ moment, draw, traces });
		});
		endings.push(...(await Promise.all(workers)));
	}
	isOver = true;
	await meanwhile;
	return { endings, scored, pending: scoring.status().pending };
}
