/** A process that scores batches when asked to, until its parent is gone: node batch-process.js SIDE. */

import { AGAIN_CASE, FULL_CACHE_CASE, type Source, sourceOf, take } from "./cases.js";
import { generateVectors } from "./generate.js";
import { type Batch, scoreAgain, scoreMany } from "./score-many.js";
import { assertModel, loadScorer, type Side } from "./sides.js";

/** Makes the following batches those of a case. The answer is true. */
export interface CaseRequest {
	op: "case";
	name: string;
	/** How many of its first traces are scored before any time is taken. */
	warmUp: number;
}

/** Scores `count` traces of the case, none of them for the second time. The answer is a Batch. */
export interface BatchRequest {
	op: "batch";
	first: number;
	count: number;
	inFlight: number;
}

/** Scores the trace `first` once, and then `count` times. The answer is a Batch. */
export interface AgainRequest {
	op: "again";
	first: number;
	count: number;
}

export type Request = CaseRequest | BatchRequest | AgainRequest;

const CACHE_CAPACITY = 1000;

async function main(): Promise<void> {
	const scorer = await loadScorer(process.argv[2] as Side);
	let source: Source = sourceOf(AGAIN_CASE);
	const again = source;

	async function prepare({ name, warmUp }: CaseRequest): Promise<boolean> {
		source = sourceOf(name);
		await scoreMany(scorer, take(source, 0, warmUp), warmUp);
		const cache = scorer._getLocalCache();
		cache.clear();
		if (name === FULL_CACHE_CASE) {
			for (const vector of generateVectors(CACHE_CAPACITY)) cache.add(vector);
		}
		return true;
	}

	async function answer(request: Request): Promise<boolean | Batch> {
		if (request.op === "case") return prepare(request);
		const { op, first, count } = request;
		if (op === "again") return scoreAgain(scorer, again(first), count);
		return scoreMany(scorer, take(source, first, count), request.inFlight);
	}

	process.on("message", async (request: Request) => {
		const done = await answer(request);
		assertModel(scorer);
		// The parent may have been interrupted in the meantime.
		if (process.connected) process.send?.(done);
	});
}

void main();
