/** A process that scores batches when asked to, until its parent is gone: node batch-process.js SIDE. */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { FULL_CACHE_CASE, tracesOf } from "./cases.js";
import { generateVectors } from "./generate.js";
import { scoreMany } from "./score-many.js";
import { loadScorer, type Side } from "./scorers.js";

/** Makes the following batches those of a case. The answer is true. */
export interface CaseRequest {
	op: "case";
	name: string;
}

/** Scores `count` traces of the case, after the last one the first again. The answer is a Batch. */
export interface BatchRequest {
	op: "batch";
	first: number;
	count: number;
	inFlight: number;
}

const WARM_UP = 4;
const CACHE_CAPACITY = 1000;

async function main(): Promise<void> {
	const scorer = await loadScorer(process.argv[2] as Side);
	let traces: ReasoningTrace[] = [];

	async function prepare(name: string): Promise<boolean> {
		traces = tracesOf(name);
		await scoreMany(scorer, traces.slice(0, WARM_UP), WARM_UP);
		const cache = scorer._getLocalCache();
		cache.clear();
		if (name === FULL_CACHE_CASE) {
			for (const vector of generateVectors(CACHE_CAPACITY)) cache.add(vector);
		}
		return true;
	}

	async function answer(request: CaseRequest | BatchRequest): Promise<unknown> {
		if (request.op === "case") return prepare(request.name);
		const { first, count, inFlight } = request;
		const batch = Array.from(
			{ length: count },
			(_, index) => traces[(first + index) % traces.length] as ReasoningTrace,
		);
		return scoreMany(scorer, batch, inFlight);
	}

	process.on("message", async (request: CaseRequest | BatchRequest) => {
		process.send?.(await answer(request));
	});
}

void main();
