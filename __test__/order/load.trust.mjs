/** One scorer under load: lost and wrong answers, their order, and memory of pending calls. */

import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { says, trace, words } from "../support/traces.mjs";

const DURATION_MS = repeats(5_000);

/** Calls in flight. */
const WIDTH = 256;

/** How many calls are repeated one after another. */
const REPLAYED = 400;

/** A call keeps only the text that the model sees. */
const BYTES_PER_CALL = 32_000;

const HUGE = Array.from({ length: 3 }, (_, seed) => {
	const page = words(2_000, seed);
	return page.repeat(Math.ceil(10_000_000 / page.length));
});

const observation = (content) => [{ type: "observation", content }];

/**
 * Traces of a busy service: mostly some hundred tokens, now and then none or 10 MB. Each size has the
 * cumulative probability up to which it is drawn.
 */
const SIZES = [
	[0.03, () => ({ objective: "", steps: [] })],
	[0.035, ({ of }) => ({ steps: observation(of(HUGE)) })],
	[
		0.045,
		({ below }) => ({
			steps: Array.from({ length: 1000 }, () => ({
				type: "tool_call",
				content: words(3, below(50)),
				tool: { name: `tool ${below(9)}` },
			})),
		}),
	],
	[0.075, () => ({ steps: [{ type: "thought", content: "Nothing to add." }] })],
	[1, ({ below }) => ({ steps: observation(words(15 + below(below(480)), below(2 ** 30))) })],
];

const BAD = [
	() => null,
	() => ({}),
	(good) => ({ ...good, outcome: { confidence: 2 } }),
	(good) => ({ ...good, steps: [...good.steps, { type: 5 }] }),
	(good) => ({ ...good, steps: new Array(2 ** 32 - 1) }),
	() => new Proxy([], {}),
];

/** Returns a trace and whether it is invalid. `index` makes its objective unique. */
function drawnTrace(draw, index) {
	const size = draw.number();
	const [, make] = SIZES.find(([upTo]) => size < upTo);
	const good = trace({ objective: `Task ${index}`, ...make(draw) });
	const isBad = draw.number() < 0.05;
	return { trace: isBad ? draw.of(BAD)(good) : good, isBad };
}

/**
 * Scores with 256 calls in flight for `ms` milliseconds, with the budget `budgetMs` if given. Fails if an
 * answer is wrong, out of order or missing, or if `pending` counts too many.
 */
async function crowd(ms, budgetMs) {
	const draw = draws(seed);
	const scorer = new Scorer({ budgetMs });
	await scorer.warmup();
	const delay = monitorEventLoopDelay({ resolution: 1 });
	const found = { calls: 0, scores: 0, refused: 0, aborted: 0, over: 0 };
	const reason = new Error("aborted on purpose");
	const latest = { plain: -1, signal: -1 };
	const latencies = [];
	/** The first calls with valid traces, for the replay. */
	const accepted = [];
	const begun = performance.now();
	let inFlight = 0;

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
				// With a signal, the listener is removed first: some turns later, but in order.
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
	await Promise.all(Array.from({ length: WIDTH }, client));
	delay.disable();
	const { calls, pending } = scorer.status();
	const { scores, over, refused, aborted } = found;
	assert.equal(pending, 0);
	assert.equal(inFlight, 0);
	assert.equal(found.calls, scores + over + refused + aborted, "calls lost");
	assert.deepEqual(
		[calls.answered, calls.failed, calls.aborted, calls.overBudget],
		[scores + over, 0, aborted, over],
	);
	// Aborted and over-budget calls leave the cache unchanged.
	const alone = new Scorer();
	for (const { trace, score } of accepted)
		if (score !== undefined) assert.equal(await alone.evaluateValue(trace), score);
	latencies.sort((a, b) => a - b);
	return {
		...found,
		latencyMs: latencies[latencies.length >> 1],
		delayMs: delay.percentile(99) / 1e6,
	};
}

test("a pending call keeps only the text that the model sees", async (t) => {
	const count = repeats(1_000);
	const huge = words(2_000, 1).repeat(700);
	for (const text of [words(15, 1), words(450, 1), huge]) {
		const scorer = new Scorer();
		await scorer.warmup();
		const trace = says(text);
		const before = process.memoryUsage.rss();
		const calls = Array.from({ length: count }, () => scorer.evaluateValue(trace));
		const bytes = Math.round((process.memoryUsage.rss() - before) / count);
		scorer.close();
		await Promise.allSettled(calls);
		t.diagnostic(`${bytes} bytes for a text of ${text.length} bytes`);
		assert.ok(bytes < BYTES_PER_CALL, `${bytes} bytes for a text of ${text.length} bytes`);
	}
});

test(`a scorer under load answers ${WIDTH} calls at a time, in order`, async (t) => {
	await repeatable("without a budget", async () => {
		const found = await crowd(DURATION_MS);
		t.diagnostic(JSON.stringify(found));
		// Less than most of those calls waited.
		const budgetMs = Math.ceil(found.latencyMs / 2);
		const { over } = await crowd(DURATION_MS / 2, budgetMs);
		t.diagnostic(`${over} calls were over a budget of ${budgetMs} ms`);
		assert.ok(over > 0, "no call was over its budget");
	});
});
