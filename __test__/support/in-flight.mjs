/** Scores traces with several calls in flight. Used in child processes. */

/**
 * Scores `traces` in order. Before the call `i` there are fewer than `widths[i]` others in flight, or
 * fewer than `widths` where that is a number: 1 is one call at a time.
 */
export async function scoreInFlight(scoring, traces, widths) {
	const scores = [];
	const inFlight = new Set();
	for (const [index, trace] of traces.entries()) {
		while (inFlight.size >= (widths[index] ?? widths)) await Promise.race(inFlight);
		const call = scoring.evaluateValue(trace).then((score) => {
			scores[index] = score;
			inFlight.delete(call);
		});
		inFlight.add(call);
	}
	await Promise.all(inFlight);
	return scores;
}
