/** A process that scores without the model when asked to: node bare-process.mjs SIDE. */

import { sourceOf, take } from "./cases.mjs";
import { assertUnseen } from "./score-many.mjs";
import { isOurs } from "./sides.mjs";

/** Calls between two looks at the clock, which takes as long as a part of a call. */
const BLOCK = 50;

async function loadBare(side) {
	if (isOurs(side)) {
		const { configure, evaluateValue } = await import("@knowledgepulse/scoring");
		configure({ embedder: "off" });
		// Node prints it, that the model is off; here it is meant to be.
		process.removeAllListeners("warning");
		return evaluateValue;
	}
	const { evaluateWithoutEmbedder } = await import("../__test__/oracle/evaluate-value.mjs");
	return async (trace) => evaluateWithoutEmbedder(trace);
}

async function together(evaluate, traces) {
	const start = performance.now();
	const scores = await Promise.all(traces.map(evaluate));
	return { scores, times: [perTrace(start, traces.length)] };
}

async function alone(evaluate, traces) {
	const run = { scores: [], times: [] };
	for (const trace of traces) {
		const start = performance.now();
		run.scores.push(await evaluate(trace));
		run.times.push(perTrace(start, 1));
	}
	return run;
}

async function calls(evaluate, traces) {
	const run = { scores: [], times: [] };
	for (let first = 0; first < traces.length; first += BLOCK) {
		const block = traces.slice(first, first + BLOCK);
		const start = performance.now();
		const promises = block.map(evaluate);
		run.times.push(perTrace(start, block.length));
		run.scores.push(...(await Promise.all(promises)));
	}
	return run;
}

function perTrace(start, count) {
	return (1000 * (performance.now() - start)) / count;
}

async function main() {
	const evaluate = await loadBare(process.argv[2]);
	const ways = { call: calls, alone, together };
	process.on("message", async (request) => {
		const { name, first, count, way } = request;
		const traces = take(sourceOf(name), first, count);
		assertUnseen(traces);
		const run = await ways[way](evaluate, traces);
		// The parent may have been interrupted in the meantime.
		if (process.connected) process.send?.(run);
	});
}

void main();
