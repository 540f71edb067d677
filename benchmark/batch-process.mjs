/**
 * A process that scores when asked to, until its parent is gone: node batch-process.mjs SIDE. No text is scored
 * twice, but for those of "again".
 */

import { createHash } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { AGAIN_CASE, FULL_CACHE_CASE, fileOf, sourceOf, take } from "./cases.mjs";
import { generateVectors } from "./generate.mjs";
import { assertModel, loadScorer } from "./sides.mjs";

const CACHE_CAPACITY = 1000;

/** Several times what the model sees; beyond it lies only the filling of a 10 MB text. */
const HEAD = 20_000;

const scorer = await loadScorer(process.argv[2]);
const seen = new Set();
let source;

/**
 * Throws if this process has been given one of these texts before: no memo of earlier texts may be measured.
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

function headOf(trace) {
	let text = trace.task.objective;
	for (const { content } of trace.steps) {
		if (text.length >= HEAD) break;
		text += ` ${(content ?? "").slice(0, HEAD)}`;
	}
	return text.slice(0, HEAD);
}

/** Scores traces in order, always `inFlight` of them at once until the last ones. */
async function scoreMany(traces, inFlight) {
	assertUnseen(traces);
	const scores = [];
	const times = [];
	const queue = traces.entries();
	async function caller() {
		// All callers draw from the same iterator.
		for (const [index, trace] of queue) {
			const start = performance.now();
			scores[index] = await scorer.evaluateValue(trace);
			times[index] = performance.now() - start;
		}
	}
	const start = performance.now();
	await Promise.all(Array.from({ length: inFlight }, caller));
	return { scores, times, elapsed: performance.now() - start };
}

const operations = {
	/** Begins a case. */
	async case({ name, warmUp }) {
		source = sourceOf(name);
		await scoreMany(take(source, 0, warmUp), warmUp);
		const cache = scorer._getLocalCache();
		cache.clear();
		if (name === FULL_CACHE_CASE) {
			for (const vector of generateVectors(CACHE_CAPACITY)) cache.add(vector);
		}
		return true;
	},

	/** Scores traces of the case. */
	batch: ({ first, count, inFlight }) => scoreMany(take(source, first, count), inFlight),

	/** Scores one trace, and then, timed, the same one again and again. */
	async again({ first, count }) {
		const trace = sourceOf(AGAIN_CASE)(first);
		const { scores } = await scoreMany([trace], 1);
		const times = [];
		for (let repetition = 0; repetition < count; repetition++) {
			const start = performance.now();
			scores.push(await scorer.evaluateValue(trace));
			times.push(performance.now() - start);
		}
		return { scores, times };
	},

	/** Scores a file from its first trace to its last. */
	async file({ name, inFlight }) {
		const traces = fileOf(name);
		// Loading the model is a matter of the first score, which is measured elsewhere.
		const first = await scoreMany(traces.slice(0, 1), 1);
		const histogram = monitorEventLoopDelay({ resolution: 1 });
		histogram.enable();
		const rest = await scoreMany(traces.slice(1), inFlight);
		histogram.disable();
		return {
			scores: [...first.scores, ...rest.scores],
			delay: { p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6 },
			peakMemory: (process.resourceUsage().maxRSS * 1024) / 1e6,
		};
	},
};

process.on("message", async ({ op, ...request }) => {
	const done = await operations[op](request);
	assertModel(scorer);
	// The parent may have been interrupted in the meantime.
	if (process.connected) process.send?.(done);
});
