/** Scores and reports, and their comparison. */

import assert from "node:assert/strict";
import { _getLocalCache, explainValue, Scorer } from "@knowledgepulse/scoring";
import { valueFrom } from "./child.mjs";

/**
 * Scores `traces` in order. Call `i` is made when fewer than `widths[i]` others are in flight, or
 * fewer than `widths` if that is a number; 1 is one call at a time.
 */
export async function scoreInFlight(scoring, traces, widths) {
	const scores = [];
	const inFlight = new Set();
	for (const [index, trace] of traces.entries()) {
		while (inFlight.size >= (widths[index] ?? widths)) await Promise.race(inFlight);
		const call = scoring.evaluateValue(trace).then((score) => {
			scores[index] = score;
			inFlight.delete(call);
		});
		inFlight.add(call);
	}
	await Promise.all(inFlight);
	return scores;
}

/** The scores of `traces` one call at a time, by a new scorer with these options. */
export const oneByOne = (traces, options) => scoreInFlight(new Scorer(options), traces, 1);

/** The scores of `traces` in a fresh process, with `widths` calls in flight; see {@link scoreInFlight}. */
export function scoresOf(traces, widths, options = {}) {
	return valueFrom(
		async ({ scoring, input }) => {
			const { scoreInFlight } = await import("./support/scores.mjs");
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

/** Fails unless every score is within `tolerance` of the expected one; returns the largest distance. */
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

/** The report of a trace with an empty cache, so that its novelty is 0.5. */
export function explainAlone(value) {
	_getLocalCache().clear();
	return explainValue(value);
}

/** Fails unless two numbers are equal up to the rounding of a few operations. */
export function assertClose(found, expected, message) {
	assert.ok(Math.abs(found - expected) <= 1e-12, `${message}: ${found} for ${expected}`);
}

/** Fails unless the score of a report follows from the rest of it. */
export function assertAddsUp(report, message = "a report") {
	const { dimensions, weights, novelty, timesMs } = report;
	let sum = 0;
	for (const [name, weight] of Object.entries(weights)) sum += dimensions[name] * weight;
	for (const { before, after } of report.overrides) {
		assertClose(before, sum, message);
		sum = after;
	}
	assertClose(report.score, sum, message);
	const expected = novelty.source === "cache" ? Math.min(1, 1 - novelty.maxSimilarity) : 0.5;
	assertClose(dimensions.novelty, expected, message);
	const { total, ...parts } = timesMs;
	const spent = Object.values(parts).reduce((sum, ms) => sum + ms, 0);
	assert.ok(
		Object.values(parts).every((ms) => ms >= 0) && spent <= total + 1,
		`${message}: ${JSON.stringify(timesMs)}`,
	);
}
