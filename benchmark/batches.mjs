/**
 * Compares `evaluateValues` with one call after another: node benchmark/batches.mjs Both alternate
 * over the recorded runs, with a scorer each; no text is repeated.
 */
import assert from "node:assert/strict";
import { read, recorded } from "../__test__/support/trace-files.mjs";
import { Scorer, status } from "../lib/entries/index.mjs";
import { mark } from "./generate.mjs";
import { inTurns } from "./processes.mjs";
import { median, timed } from "./statistics.mjs";

const ROUNDS = 5;

const ways = {
	"one by one": async (scorer, traces) =>
		(await timed(traces, 1, (trace) => scorer.evaluateValue(trace))).results,
	evaluateValues: (scorer, traces) => scorer.evaluateValues(traces),
};

async function run(way, traces) {
	const scorer = new Scorer();
	await scorer.warmup();
	const began = performance.now();
	const scores = await ways[way](scorer, traces);
	return { scores, ms: performance.now() - began };
}

for (const file of recorded) {
	const { traces } = read(file);
	let count = 0;
	/** The runs with new texts, because the memo belongs to the model. */
	function marked() {
		count++;
		return traces.map((trace) => mark(trace, count));
	}
	// A warm-up, not measured.
	await run("evaluateValues", marked());
	const times = await inTurns(Object.keys(ways), ROUNDS, async (way) => {
		const own = marked();
		const { scores, ms } = await run(way, own);
		if (way === "evaluateValues") assert.deepEqual((await run("one by one", own)).scores, scores);
		return ms / traces.length;
	});
	const [alone, together] = Object.values(times).map(median);
	console.log(
		`${file}, ${traces.length} runs, ${status().threads} threads: one by one ${alone.toFixed(1)} ms a run, ` +
			`evaluateValues ${together.toFixed(1)} ms, ${(alone / together).toFixed(2)} times as fast (medians of ${ROUNDS})`,
	);
}
