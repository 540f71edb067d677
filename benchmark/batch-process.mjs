/**
 * A process that scores on request until its parent is gone: node batch-process.mjs SIDE. No text is scored
 * twice, except those of "again".
 */

import { createHash } from "node:crypto";
import { AGAIN_CASE, FULL_CACHE_CASE, fileOf, sourceOf, take } from "./cases.mjs";
import { generateVectors } from "./generate.mjs";
import { serve } from "./processes.mjs";
import { assertModel, loadScorer } from "./sides.mjs";
import { timed, watched } from "./statistics.mjs";

const CACHE_CAPACITY = 1000;

/** Several times the part that the model sees; the rest is only the filling of a 10 MB text. */
const HEAD = 20_000;

const scorer = await loadScorer(process.argv[2]);
const seen = new Set();
let source;

/**
 * Throws if this process has scored one of these texts before, because the memo must not be measured.
 */
function assertUnseen(traces) {
	for (const trace of traces) {
		const head = headOf(trace).toLowerCase();
		// A hash, because a slice would keep the whole text alive.
		const digest = createHash("sha1").update(head).digest("base64");
		if (seen.has(digest)) {
			throw new Error(`${trace.id} has a text that was scored before`);
		}
		seen.add(digest);
	}
}

function headOf({ task, steps }) {
	const contents = steps.map(({ content }) => (content ?? "").slice(0, HEAD));
	return [task.objective, ...contents].join(" ").slice(0, HEAD);
}

const evaluate = (trace) => scorer.evaluateValue(trace);

async function scoreMany(traces, inFlight) {
	assertUnseen(traces);
	const { results: scores, ...rest } = await timed(traces, inFlight, evaluate);
	assertModel(scorer);
	return { scores, ...rest };
}

serve({
	/** Begins a case. */
	async case({ name, warmUp }) {
		source = sourceOf(name);
		await scoreMany(take(source, 0, warmUp), warmUp);
		const cache = scorer._getLocalCache();
		cache.clear();
		if (name !== FULL_CACHE_CASE) return;
		for (const vector of generateVectors(CACHE_CAPACITY)) cache.add(vector);
	},

	/** Scores traces of the case. */
	batch: ({ first, count, inFlight }) => scoreMany(take(source, first, count), inFlight),

	/** Scores one trace, and then, timed, the same one again and again. */
	async again({ first, count }) {
		const trace = sourceOf(AGAIN_CASE)(first);
		const { scores } = await scoreMany([trace], 1);
		const { results, times } = await timed(Array(count).fill(trace), 1, evaluate);
		return { scores: [...scores, ...results], times };
	},

	/** Scores a file from its first trace to its last. */
	async file({ name, inFlight }) {
		const traces = fileOf(name);
		// Loading the model belongs to the first score, which is measured elsewhere.
		const first = await scoreMany(traces.slice(0, 1), 1);
		const { result: rest, loop } = await watched(() => scoreMany(traces.slice(1), inFlight));
		return {
			scores: [...first.scores, ...rest.scores],
			delay: loop,
			peakMemory: (process.resourceUsage().maxRSS * 1024) / 1e6,
		};
	},
});
