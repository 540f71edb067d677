/** Reports of single traces, scored in this process. */

import assert from "node:assert/strict";
import { _getLocalCache, explainValue } from "@knowledgepulse/scoring";

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
