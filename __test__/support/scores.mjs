/** Scores, and their comparison. */

import assert from "node:assert/strict";
import { Scorer } from "@knowledgepulse/scoring";
import { valueFrom } from "./child.mjs";
import { scoreInFlight } from "./in-flight.mjs";

/** The scores of `traces` one call at a time, by a new scorer of this process. */
export const oneByOne = (traces) => scoreInFlight(new Scorer(), traces, 1);

/** The scores of `traces` in a fresh process, with so many calls in flight; see {@link scoreInFlight}. */
export function scoresOf(traces, widths, options = {}) {
	return valueFrom(
		async ({ scoring, input }) => {
			const { scoreInFlight } = await import("./support/in-flight.mjs");
			return scoreInFlight(scoring, input.traces, input.widths);
		},
		{ ...options, input: { traces, widths } },
	);
}

/** Fails unless the scores are the same numbers, bit for bit. */
export function assertSame(found, expected, name = "scores") {
	assert.equal(found.length, expected.length, name);
	for (const [index, score] of found.entries()) {
		assert.ok(
			Object.is(score, expected[index]),
			`${name}, call ${index}: ${score} for ${expected[index]}`,
		);
	}
}

/** Fails unless every score is within `tolerance` of the expected one; gives the largest distance. */
export function assertWithin(tolerance, found, expected, nameOf = String) {
	assert.equal(found.length, expected.length);
	let worst = 0;
	for (const [index, score] of found.entries()) {
		const distance = Math.abs(score - expected[index]);
		assert.ok(distance <= tolerance, `${nameOf(index)}: ${score} for ${expected[index]}`);
		worst = Math.max(worst, distance);
	}
	return worst;
}
