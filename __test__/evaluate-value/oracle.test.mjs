import assert from "node:assert/strict";
import { test } from "node:test";
import { valueWithoutEmbedder } from "../support/child.mjs";
import { repeats } from "../support/repeats.mjs";

const TRACES = repeats(2_000);

test(`evaluateValue scores ${TRACES} generated traces as the oracle does, bit for bit`, async () => {
	const counts = await valueWithoutEmbedder(
		async ({ scoring, input }) => {
			const { default: fc } = await import("fast-check");
			const { anyTrace } = await import("./support/arbitraries.mjs");
			const { Oracle } = await import("../benchmark/dist/typescript/oracle.js");
			const oracle = new Oracle();
			const counts = { scored: 0, distinct: new Set() };
			// On failure the message has the seed and the smallest trace that fails.
			const property = fc.asyncProperty(anyTrace, async (trace) => {
				const expected = await oracle.evaluate(trace);
				const score = await scoring.evaluateValue(trace);
				if (!Object.is(score, expected.score))
					throw new Error(`${score} for ${JSON.stringify(expected)}`);
				counts.scored += 1;
				counts.distinct.add(score);
			});
			await fc.assert(property, { numRuns: input });
			return { ...counts, distinct: counts.distinct.size };
		},
		{ input: TRACES },
	);
	assert.equal(counts.scored, TRACES);
	assert.ok(counts.distinct > TRACES / 8, `only ${counts.distinct} different scores`);
});
