/** What the scripts that compare the addon with itself have in common. */

/** The same traces with other texts: a word in front of the objective. */
export function marked(traces, number) {
	return traces.map((trace) => ({
		...trace,
		task: { ...trace.task, objective: `${number} ${trace.task.objective}` },
	}));
}

export function median(numbers) {
	const sorted = numbers.toSorted((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)];
}
