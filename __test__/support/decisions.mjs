/** Decisions, and the same made by hand. */

import assert from "node:assert/strict";

/** What `decide` does, by calls that were there before it. */
export async function decideByHand(scorer, trace, threshold) {
	const { score, novelty } = await scorer.explainValue(trace, { remember: false });
	const accepted = score >= threshold;
	if (accepted) await scorer.remember(trace);
	return { accepted, score, novelty };
}

/** The decisions of a scorer on traces in order, so many at once. */
export async function decideInFlight(scorer, traces, inFlight, options) {
	const decisions = [];
	for (let start = 0; start < traces.length; start += inFlight) {
		const calls = traces
			.slice(start, start + inFlight)
			.map((trace) => scorer.decide(trace, options));
		decisions.push(...(await Promise.all(calls)));
	}
	return decisions;
}

/** Everything in the memory of a scorer, in its turn. */
export async function contentsOf(scorer) {
	const found = await scorer.similar("everything", { k: 100_000 });
	return found.map(({ id, similarity }) => ({ id, similarity }));
}

/** Fails unless decisions are those by hand, and scores, where there are some, the same bit for bit. */
export function assertDecided(found, expected) {
	assert.equal(found.length, expected.length);
	for (const [at, { accepted, score, bounds, novelty }] of found.entries()) {
		const [least, greatest] = bounds;
		assert.equal(accepted, expected[at].accepted, `decision ${at}`);
		assert.ok(expected[at].score >= least && expected[at].score <= greatest, `bounds ${at}`);
		if (score === null) assert.equal(novelty, null);
		else
			assert.deepEqual(
				{ score, novelty },
				{ score: expected[at].score, novelty: expected[at].novelty },
			);
	}
}
