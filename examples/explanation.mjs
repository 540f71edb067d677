/** A report of `explainValue` as text. */

const NAMES = {
	complexity: "complexity",
	novelty: "novelty",
	toolDiversity: "tool diversity",
	outcomeConfidence: "outcome confidence",
};

const column = (text, width) => String(text).padStart(width);

function noveltyInWords({ source, maxSimilarity, nearest, reason }) {
	switch (source) {
		case "cache":
			return `nearest to ${nearest ?? "a trace without an id"}, similarity ${maxSimilarity.toFixed(3)}`;
		case "empty-cache":
			return "0.5, because the cache is empty";
		case "over-budget":
			return "0.5, because the embedding took longer than budgetMs";
		default:
			return `0.5, because there is no embedder: ${reason}`;
	}
}

/** Returns the text, of several lines. */
export function explanation(title, report) {
	const { dimensions, weights, profile, overrides, novelty, text, timesMs } = report;
	let sum = 0;
	const lines = [
		`"${title}" scores ${report.score.toFixed(4)}, with the weights for ${profile}:`,
		"",
	];
	for (const [key, name] of Object.entries(NAMES)) {
		const part = dimensions[key] * weights[key];
		sum += part;
		lines.push(
			`  ${name.padEnd(20)}${column(dimensions[key].toFixed(3), 6)} × ${weights[key].toFixed(2)} = ${column(part.toFixed(4), 7)}`,
		);
	}
	lines.push(`  ${"sum".padEnd(35)}${column(sum.toFixed(4), 7)}`);
	for (const { name, before, after } of overrides)
		lines.push(
			`  ${name.padEnd(35)}${column(after.toFixed(4), 7)}   (${(after - before).toFixed(2)})`,
		);
	lines.push("", `  novelty: ${noveltyInWords(novelty)}`);
	if (text)
		lines.push(
			`  text: ${text.tokens} tokens${text.isCut ? ", the rest of the text is not used" : ""}`,
		);
	lines.push(
		`  time: ${timesMs.total.toFixed(1)} ms, of which ${timesMs.queue.toFixed(1)} ms waiting for a thread, ${timesMs.infer.toFixed(1)} ms in the model, ${timesMs.turn.toFixed(1)} ms waiting for earlier calls`,
	);
	return lines.join("\n");
}
