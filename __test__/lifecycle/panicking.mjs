/** Calls of an addon that panics. Runs in child processes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { says, words } from "../support/traces.mjs";

/** Longer than any call here takes. */
const LOST_AFTER_MS = 60_000;
/** Loading a model is retried after a second. */
const RETRY_AFTER_MS = 1_100;

const trace = (seed) => says(words(6, seed));

/** Makes two calls of every kind, with new texts in each round; returns their outcomes. */
async function callEverything(scorer, round, folder) {
	const calls = [1, 2].flatMap((each) => {
		const seed = 100 * round + each;
		return [
			scorer.evaluateValue(trace(seed)),
			scorer.explainValue(trace(seed)),
			scorer.evaluateValue(trace(10 + seed), { remember: false }),
			scorer.remember(trace(20 + seed)),
			scorer.warmup(),
			scorer.evaluateValue(trace(seed), { signal: new AbortController().signal }),
			scorer.save(join(folder, `${seed}`)),
			scorer.snapshot(),
		];
	});
	const lost = sleep(LOST_AFTER_MS, undefined, { ref: false });
	const settled = await Promise.race([Promise.allSettled(calls), lost]);
	assert.ok(settled, "a promise was lost");
	assert.equal(scorer.status().pending, 0);
	return settled;
}

/**
 * Makes calls while `inARow` panics are injected, then others that must succeed. Returns the codes of
 * the rejections.
 */
export async function panicking({ input: { entry, inARow, folder } }) {
	const scoring = await import(entry);
	const scorer = new scoring.Scorer({ threads: 2 });
	const settled = [];
	// Each round reaches every place at least once.
	for (let round = 1; round <= inARow; round++) {
		settled.push(...(await callEverything(scorer, round, folder)));
		await sleep(RETRY_AFTER_MS);
	}
	const after = new scoring.Scorer();
	for (const nearest of [null, "kp:trace:test"]) {
		const { novelty } = await after.explainValue(trace(0));
		assert.equal(novelty.nearest, nearest);
		assert.ok(nearest === null || novelty.maxSimilarity > 1 - 1e-6);
	}
	await after.save(join(folder, "after"));
	return settled
		.filter(({ status }) => status === "rejected")
		.map(({ reason }) => {
			assert.ok(reason instanceof scoring.ScoringError, String(reason));
			return reason.code;
		});
}
