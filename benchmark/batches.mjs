/**
 * How much faster `evaluateValues` is than one call after another: node benchmark/batches.mjs
 * Both take turns, a scorer each, over the recorded runs; no text comes twice.
 */
import assert from "node:assert/strict";
import { files, read } from "../__test__/support/recorded.mjs";
import { Scorer, status } from "../lib/entries/index.mjs";
import { marked } from "./generate.mjs";
import { median } from "./statistics.mjs";

const ROUNDS = 5;

async function oneByOne(scorer, traces) {
	const scores = [];
	for (const trace of traces) scores.push(await scorer.evaluateValue(trace));
	return scores;
}

const ways = {
	"one by one": oneByOne,
	evaluateValues: (scorer, traces) => scorer.evaluateValues(traces),
};

async function timed(way, traces) {
	const scorer = new Scorer();
	await scorer.warmup();
	const began = performance.now();
	const scores = await way(scorer, traces);
	return { scores, ms: performance.now() - began };
}

for (const file of files) {
	const { traces } = read(file);
	const times = { "one by one": [], evaluateValues: [] };
	// Unmeasured: the second session is made when two texts meet.
	await timed(ways.evaluateValues, marked(traces, 0));
	for (let round = 1; round <= ROUNDS; round++) {
		// The memory for texts belongs to the model, so each way gets texts of its own.
		const scores = {};
		for (const [index, name] of Object.keys(ways).entries()) {
			const own = marked(traces, 2 * round + index);
			const result = await timed(ways[name], own);
			times[name].push(result.ms / traces.length);
			scores[name] = { own, ...result };
		}
		const { own, scores: found } = scores.evaluateValues;
		assert.deepEqual(await oneByOne(new Scorer(), own), found);
	}
	const [alone, together] = Object.values(times).map(median);
	console.log(
		`${file}, ${traces.length} runs, ${status().threads} threads: one by one ${alone.toFixed(1)} ms a run, ` +
			`evaluateValues ${together.toFixed(1)} ms, ${(alone / together).toFixed(2)} times as fast (medians of ${ROUNDS})`,
	);
}
