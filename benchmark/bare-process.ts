/** A process that scores without the model when asked to: node bare-process.js SIDE. */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { sourceOf, take } from "./cases.js";
import { isOurs, type Side } from "./sides.js";
import { assertUnseen } from "./unseen.js";

/** Scores traces of a case in one of three ways. The answer is a BareRun. */
export interface BareRequest {
	name: string;
	first: number;
	count: number;
	/**
	 * - `"call"`: how long the calls keep the thread, until each has returned its promise;
	 * - `"alone"`: from one call to its score, one at a time;
	 * - `"together"`: all in flight at once.
	 */
	way: "call" | "alone" | "together";
}

export interface BareRun {
	scores: number[];
	/** Microseconds for one trace: of each block of calls, of each score, of all together. */
	times: number[];
}

type Evaluate = (trace: ReasoningTrace) => Promise<number>;

/** Calls between two looks at the clock, which takes as long as a part of a call. */
const BLOCK = 50;

async function loadBare(side: Side): Promise<Evaluate> {
	if (isOurs(side)) {
		const { configure, evaluateValue } = await import("@knowledgepulse/scoring");
		configure({ embedder: "off" });
		// Node prints it, that the model is off; here it is meant to be.
		process.removeAllListeners("warning");
		return evaluateValue;
	}
	const { evaluateWithoutEmbedder } = await import("./typescript/evaluate-value.js");
	return async (trace) => evaluateWithoutEmbedder(trace);
}

async function together(evaluate: Evaluate, traces: readonly ReasoningTrace[]): Promise<BareRun> {
	const start = performance.now();
	const scores = await Promise.all(traces.map(evaluate));
	return { scores, times: [perTrace(start, traces.length)] };
}

async function alone(evaluate: Evaluate, traces: readonly ReasoningTrace[]): Promise<BareRun> {
	const run: BareRun = { scores: [], times: [] };
	for (const trace of traces) {
		const start = performance.now();
		run.scores.push(await evaluate(trace));
		run.times.push(perTrace(start, 1));
	}
	return run;
}

async function calls(evaluate: Evaluate, traces: readonly ReasoningTrace[]): Promise<BareRun> {
	const run: BareRun = { scores: [], times: [] };
	for (let first = 0; first < traces.length; first += BLOCK) {
		const block = traces.slice(first, first + BLOCK);
		const start = performance.now();
		const promises = block.map(evaluate);
		run.times.push(perTrace(start, block.length));
		run.scores.push(...(await Promise.all(promises)));
	}
	return run;
}

function perTrace(start: number, count: number): number {
	return (1000 * (performance.now() - start)) / count;
}

async function main(): Promise<void> {
	const evaluate = await loadBare(process.argv[2] as Side);
	const ways = { call: calls, alone, together };
	process.on("message", async (request: BareRequest) => {
		const { name, first, count, way } = request;
		const traces = take(sourceOf(name), first, count);
		assertUnseen(traces);
		const run = await ways[way](evaluate, traces);
		// The parent may have been interrupted in the meantime.
		if (process.connected) process.send?.(run);
	});
}

void main();
