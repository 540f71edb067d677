/** Keeps one scorer under load. Runs in a process of its own. */
import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { says, words } from "../../../__test__/support/traces.mjs";
import { draws } from "../lib/draw.mjs";
import { drawnTrace } from "./drawn.mjs";

/** So many calls are checked against one call after another. */
const REPLAYED = 400;
const rss = () => process.memoryUsage.rss();

function percentiles(times) {
	times.sort((a, b) => a - b);
	const at = (share) => Math.round(times[Math.ceil(share * times.length) - 1] ?? 0);
	return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

/**
 * Scores with `width` calls in flight for `ms` milliseconds, each with the budget `budgetMs` if there is
 * one. Fails if a call is answered wrongly, out of order or not at all, or if the queue holds calls that
 * nobody waits for.
 */
export async function crowd(scoring, { seed, width, ms, budgetMs }) {
	const draw = draws(seed);
	const scorer = new scoring.Scorer({ budgetMs });
	await scorer.warmup();
	const delay = monitorEventLoopDelay({ resolution: 1 });
	const found = { calls: 0, scores: 0, refused: 0, aborted: 0, over: 0 };
	const reason = new Error("aborted on purpose");
	const latest = { plain: -1, signal: -1 };
	const latencies = [];
	/** Calls that are to be in the cache, for the replay. */
	const accepted = [];
	const memory = { before: rss(), most: 0 };
	const begun = performance.now();
	let inFlight = 0;
	let mostPending = 0;

	async function one() {
		const index = found.calls++;
		const { trace, isBad } = drawnTrace(draw, index);
		const signal = draw.number() < 0.1 ? new AbortController() : undefined;
		if (signal) setTimeout(() => signal.abort(reason), draw.below(4000));
		const since = performance.now();
		inFlight += 1;
		const options = signal && { signal: signal.signal };
		const call = scorer.explainValue(trace, options);
		const { pending } = scorer.status();
		assert.ok(pending <= inFlight, `${pending} pending of ${inFlight}`);
		mostPending = Math.max(mostPending, pending);
		const entry = { trace };
		if (!isBad && accepted.length < REPLAYED) accepted.push(entry);
		try {
			const { score, novelty } = await call;
			assert.ok(!isBad, `call ${index} should have been refused`);
			assert.ok(score >= 0 && score <= 1, `call ${index}: ${score}`);
			if (novelty.source === "over-budget") found.over += 1;
			else {
				found.scores += 1;
				entry.score = score;
				// A signal takes its listener away first: some turns later, in order all the same.
				const line = signal ? "signal" : "plain";
				assert.ok(index > latest[line], `${index} after ${latest[line]}`);
				latest[line] = index;
				latencies.push(performance.now() - since);
			}
		} catch (error) {
			if (isBad && error.code === "INVALID_TRACE") found.refused += 1;
			else if (signal && error === reason) found.aborted += 1;
			else throw error;
		}
		inFlight -= 1;
	}

	async function client() {
		while (performance.now() - begun < ms) await one();
	}

	delay.enable();
	const watch = setInterval(() => {
		memory.most = Math.max(memory.most, rss());
	}, 100);
	await Promise.all(Array.from({ length: width }, client));
	delay.disable();
	clearInterval(watch);
	const seconds = (performance.now() - begun) / 1000;
	const { calls, pending } = scorer.status();
	const { scores, over, refused, aborted } = found;
	assert.equal(pending, 0);
	assert.equal(inFlight, 0);
	assert.equal(found.calls, scores + over + refused + aborted, "calls lost");
	// The warm-up counts, too.
	assert.deepEqual(
		[calls.answered, calls.failed, calls.aborted, calls.overBudget],
		[scores + over + 1, 0, aborted, over],
	);
	await replay(new scoring.Scorer(), accepted);
	return {
		...found,
		seconds,
		mostPending,
		latency: percentiles(latencies),
		delay: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
		memory: { ...memory, after: rss() },
	};
}

/**
 * Fails unless the scores are those of one call after another, without the calls that got none: what was
 * aborted or over its budget leaves no mark.
 */
async function replay(scorer, accepted) {
	for (const { trace, score } of accepted)
		if (score !== undefined) assert.equal(await scorer.evaluateValue(trace), score);
}

/** Scores an endless source for `ms` milliseconds, and ends it with a signal. */
export async function endless(scoring, { seed, ms }) {
	const draw = draws(seed);
	const scorer = new scoring.Scorer();
	const controller = new AbortController();
	const reason = new Error("enough");
	let [most, drawn, isEnded] = [0, 0, false];
	async function* source() {
		try {
			for (;;) {
				if (draw.below(20) === 0) await sleep(1);
				most = Math.max(most, scorer.status().pending);
				yield drawnTrace(draw, drawn++).trace;
			}
		} finally {
			isEnded = true;
		}
	}
	setTimeout(() => controller.abort(reason), ms);
	const { signal } = controller;
	const all = scorer.evaluateValues(source(), { errors: "collect", signal });
	await assert.rejects(all, reason);
	await scorer.warmup();
	assert.ok(isEnded, "the source was not ended");
	assert.ok(most <= 64, `${most} in flight`);
	assert.equal(scorer.status().pending, 0);
	return { most, drawn };
}

/** What a call takes while it waits, in bytes, by the size of its trace. */
export async function waiting(scoring, { count }) {
	const huge = words(2_000, 1).repeat(700);
	const texts = { "20 tokens": 15, "512 tokens": 450, "10 MB": huge };
	const bytes = {};
	for (const [name, text] of Object.entries(texts)) {
		const scorer = new scoring.Scorer();
		await scorer.warmup();
		const trace = says(typeof text === "string" ? text : words(text, 1));
		const before = rss();
		const calls = [];
		while (calls.length < count) calls.push(scorer.evaluateValue(trace));
		bytes[name] = Math.round((rss() - before) / count);
		scorer.close();
		await Promise.allSettled(calls);
	}
	return bytes;
}
