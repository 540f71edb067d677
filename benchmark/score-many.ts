import type { ReasoningTrace } from "@knowledgepulse/scoring";
import type { Scorer } from "./sides.js";
import { assertUnseen } from "./unseen.js";

/** Some traces, scored. */
export interface Batch {
	scores: number[];
	/** Milliseconds from each call to its score. */
	times: number[];
	/** Milliseconds from the first call to the last score. */
	elapsed: number;
}

/** Scores traces in order, always `inFlight` of them at once until the last ones. */
export async function scoreMany(
	scorer: Scorer,
	traces: readonly ReasoningTrace[],
	inFlight: number,
): Promise<Batch> {
	assertUnseen(traces);
	const scores: number[] = [];
	const times: number[] = [];
	const queue = traces.entries();
	async function caller(): Promise<void> {
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
export async function scoreAgain(
	scorer: Scorer,
	trace: ReasoningTrace,
	count: number,
): Promise<Batch> {
	const batch = await scoreMany(scorer, [trace], 1);
	const again: Batch = { scores: batch.scores, times: [], elapsed: 0 };
	for (let repetition = 0; repetition < count; repetition++) {
		const start = performance.now();
		again.scores.push(await scorer.evaluateValue(trace));
		again.times.push(performance.now() - start);
	}
	return again;
}
