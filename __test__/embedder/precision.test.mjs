import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { assertSame, assertWithin, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";
import { says, words } from "../support/traces.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_PRECISION";

const FAST = { [VARIABLE]: "fast" };

/** The greatest error of a fast score. */
const FAST_TOLERANCE = 0.006;

/** The number of traces of a file that are scored, and that are also scored in another way. */
const SOME = repeats(30);
const PREFIX = 5;

/** The minimum similarity of the exact and the fast embedding of a text. */
const SIMILARITY = 0.99;

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

test("explainValue compares fast embeddings with exact ones", async () => {
	const texts = {
		nothing: "",
		"one letter": "a",
		"a lone surrogate": "\ud800",
		pictures: "😀🙂",
		"a long word": "é".repeat(3000),
		"Chinese characters": "漢字".repeat(100),
		punctuation: "!?".repeat(300),
		numbers: "0123456789 ".repeat(50),
		"three words": words(3, 1),
		"more than the window": words(5000, 2),
	};
	const found = await valueFrom(
		async ({ scoring, input }) => {
			const reports = (precision) => {
				scoring.configure({ precision });
				return Promise.all(input.map(scoring.explainValue));
			};
			await reports("exact");
			return [...(await reports("fast")), ...(await reports("exact"))];
		},
		// Some are in scripts that the model does not know.
		{
			input: Object.values(texts).map(says),
			env: { NODE_NO_WARNINGS: "1" },
		},
	);
	const names = Object.keys(texts);
	for (const [index, { novelty }] of found.entries()) {
		const { source, maxSimilarity } = novelty;
		const name = `${names[index % names.length]}: ${maxSimilarity}`;
		assert.equal(source, "cache", name);
		assert.ok(maxSimilarity > SIMILARITY && maxSimilarity <= 1, name);
	}
});
