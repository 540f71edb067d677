import { test } from "node:test";
import { valueFrom } from "../support/child.mjs";
import { draws, seed } from "../support/draws.mjs";
import { assertSame } from "../support/scores.mjs";
import { trace, words } from "../support/traces.mjs";

/**
 * Scores `input.traces`, with `input.width` calls in flight. If `input.forgets`, each trace gets a new embedder,
 * whose memo is empty; the cache stays.
 */
async function score({ scoring, input }) {
	const { scoreInFlight } = await import("./support/scores.mjs");
	const { precision = "exact", traces, width, forgets } = input;
	const scores = [];
	for (const part of forgets ? traces.map((trace) => [trace]) : [traces]) {
		scoring.configure({ precision: precision === "fast" ? "exact" : "fast" });
		scoring.configure({ precision });
		scores.push(...(await scoreInFlight(scoring, part, width)));
	}
	return { scores, cacheSize: scoring.status().cacheSize };
}

/** Texts of all lengths in a random order, each several times, in traces that differ otherwise. */
function repeated(count) {
	const texts = [600, 120, 30, 8, 1, 0].map((length, i) => words(length, i));
	const { number, of } = draws(seed);
	return Array.from({ length: count }, () => {
		const content = of(texts);
		const tools = of([[], ["a"], ["a", "b"], ["a", "b", "c"]]);
		return trace({
			objective: of(["Read", "Write"]),
			domain: of(["code", "finance", "general"]),
			success: number() < 0.5,
			confidence: number(),
			steps: [
				{ type: "observation", content },
				...tools.map((name) => ({ type: "tool_call", tool: { name } })),
			],
		});
	});
}

for (const precision of ["exact", "fast"]) {
	test(`evaluateValue scores texts of the memo as new ones, ${precision}`, async () => {
		const traces = repeated(12);
		const input = { precision, traces, width: 1 };
		const forgetful = await valueFrom(score, { input: { ...input, forgets: true } });
		for (const width of [1, 8]) {
			const found = await valueFrom(score, { input: { ...input, width } });
			assertSame(found.scores, forgetful.scores, `KP_SEED=${seed}, ${width} in flight`);
		}
	});
}
