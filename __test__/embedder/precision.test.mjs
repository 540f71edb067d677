import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { assertSame, assertWithin, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_PRECISION";

const FAST = { [VARIABLE]: "fast" };

/** The greatest error of a fast score. */
const FAST_TOLERANCE = 0.006;

/** The number of traces of a file that are scored, and that are also scored in another way. */
const SOME = repeats(30);
const PREFIX = 5;

/** Fails unless fast scores are near the exact ones, with any number of calls in flight. */
async function assertFast(traces, right) {
	const fast = await scoresOf(traces, 16, { env: FAST });
	assertWithin(FAST_TOLERANCE, fast, right);
	assert.notDeepEqual(fast, right, "fast is not exact");
	const beginning = await scoresOf(traces.slice(0, PREFIX), 1, { env: FAST });
	assertSame(beginning, fast.slice(0, PREFIX), "one at a time");
}

/** Scores all traces fast, then exactly, both times with an empty cache. */
const fastThenExact = async ({ scoring, input }) => {
	const { scoreInFlight } = await import("./support/scores.mjs");
	scoring.configure({ precision: "fast" });
	await scoreInFlight(scoring, input, 16);
	scoring._getLocalCache().clear();
	scoring.configure({ precision: "exact" });
	return scoreInFlight(scoring, input, 16);
};

for (const file of files) {
	test(`evaluateValue gives ${file} fast scores near the golden ones`, () => {
		const { traces, golden } = firstOf(file, SOME);
		const right = golden.map(({ score }) => score);
		return assertFast(traces, right);
	});
}

test("evaluateValue gives the fixtures fast scores near the exact ones, and exact ones after them", async () => {
	const exact = await scoresOf(runs, 1);
	await assertFast(runs, exact);
	assertSame(await valueFrom(fastThenExact, { input: runs }), exact);
});
