/** Calls of an addon that panics. Runs in a process of its own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { says, words } from "../../__test__/lib/traces.mjs";

/** Longer than anything that is in flight here takes. */
const LOST_AFTER_MS = 60_000;
/** A model that could not be loaded is tried again after a second. */
const RETRY_AFTER_MS = 1_100;

/**
 * Makes calls while panics are injected at `place`, and then some when they are over. Gives the codes
 * of the promises that were rejected.
 */
export async function panicking(scoring, { place, folder }) {
	const scorer = new scoring.Scorer({
		threads: 2,
		...(place === "deadline" ? { budgetMs: 5 } : {}),
	});
	const trace = (seed) => says(words(6, seed));
	const calls = [1, 2].flatMap((seed) => [
		scorer.evaluateValue(trace(seed)),
		scorer.explainValue(trace(seed)),
		scorer.peekValue(trace(10 + seed)),
		scorer.remember(trace(20 + seed)),
		scorer.warmup(),
		scorer.evaluateValue(trace(seed), { signal: new AbortController().signal }),
		scorer.save(join(folder, `${seed}`)),
	]);
	const settled = await Promise.race([
		Promise.allSettled(calls),
		sleep(LOST_AFTER_MS, undefined, { ref: false }),
	]);
	assert.ok(settled, "a promise was lost");
	assert.equal(scorer.status().pending, 0);
	await sleep(RETRY_AFTER_MS);
	const after = new scoring.Scorer();
	for (const [nearest, seed] of [
		[null, 31],
		["kp:trace:test", 31],
	]) {
		const { novelty } = await after.explainValue(trace(seed));
		assert.equal(novelty.nearest, nearest);
		assert.ok(nearest === null || novelty.maxSimilarity > 1 - 1e-6);
	}
	await after.save(join(folder, "after"));
	return settled
		.filter(({ status }) => status === "rejected")
		.map(({ reason }) => reason.code);
}
