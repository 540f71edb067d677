/** Scores traces, no text of which this process has had before. */

import { createHash } from "node:crypto";

/** Several times what the model sees; beyond it lies only the filling of a 10 MB text. */
const HEAD = 20_000;

const seen = new Set();

/**
 * Throws if this process has been given one of these texts before: no memo of earlier texts may be measured.
 */
export function assertUnseen(traces) {
	for (const trace of traces) {
		const head = headOf(trace).toLowerCase();
		// A hash, because a slice would keep the whole text alive.
		const digest = createHash("sha1").update(head).digest("base64");
		if (seen.has(digest)) {
			throw new Error(`${trace.id} has a text that was scored before`);
		}
		seen.add(digest);
	}
}

function headOf(trace) {
	let text = trace.task.objective;
	for (const { content } of trace.steps) {
		if (text.length >= HEAD) break;
		text += ` ${(content ?? "").slice(0, HEAD)}`;
	}
	return text.slice(0, HEAD);
}

/** Scores traces in order, always `inFlight` of them at once until the last ones. */
export async function scoreMany(scorer, traces, inFlight) {
	assertUnseen(traces);
	const scores = [];
	const times = [];
	const queue = traces.entries();
	async function caller() {
		// All callers draw from the same iterator.
		for (const [index, trace] of queue) {
			const start = performance.now();
			scores[index] = await scorer.evaluateValue(trace);
			times[index] = performance.now() - start;
		}
	}
	const start = performance.now();
	await Promise.all(Array.from({ length: inFlight }, caller));
	return { scores, times, elapsed: performance.now() - start };
}

/** Scores one trace, and then, timed, the same one again and again. */
export async function scoreAgain(scorer, trace, count) {
	const batch = await scoreMany(scorer, [trace], 1);
	const again = { scores: batch.scores, times: [], elapsed: 0 };
	for (let repetition = 0; repetition < count; repetition++) {
		const start = performance.now();
		again.scores.push(await scorer.evaluateValue(trace));
		again.times.push(performance.now() - start);
	}
	return again;
}
