import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { anyTrace, domain } from "../support/arbitraries.mjs";
import { repeats, seed } from "../support/draws.mjs";
import { anyValue, built } from "../support/mutations.mjs";
import { difference, Oracle, settled, WAYS } from "./oracle.mjs";

const TRACES = repeats(1_000);

const weight = fc.oneof(
	fc.constantFrom(0, 0.1, 0.25, 1),
	fc.double({ min: 0, max: 1, noNaN: true }),
);

/** Weights whose sum deviates from 1 by at most the tolerance. */
const weights = fc
	.tuple(
		fc.array(weight, { minLength: 4, maxLength: 4 }),
		fc.constantFrom(1, 1, 1 - 9e-10, 1 + 9e-10),
	)
	.filter(([parts]) => parts.some((part) => part > 0))
	.map(([parts, total]) => {
		const sum = parts.reduce((sum, part) => sum + part);
		const [complexity, novelty, toolDiversity, outcomeConfidence] = parts.map(
			(part) => (part / sum) * total,
		);
		return { complexity, novelty, toolDiversity, outcomeConfidence };
	});

const anyProfiles = fc.option(
	fc
		.array(fc.tuple(domain, weights), { maxLength: 8 })
		.map((entries) => Object.fromEntries(entries)),
	{ nil: undefined },
);

/** Every way to a score. */
const ways = {
	...WAYS,
	"evaluateValue, remember: false": (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value, { remember: false })))),
};

test(`every function scores ${TRACES} generated traces as the oracle does, bit for bit`, async () => {
	const counts = { scored: 0, rejected: 0, profiled: 0, scores: new Set() };
	const compare = async (profiles, cases) => {
		const values = cases.map(built);
		const oracle = new Oracle({ profiles });
		const expected = await Promise.all(values.map((value) => oracle.evaluate(value)));
		const scorer = new Scorer({ profiles, embedder: "off" });
		for (const [way, scoresOf] of Object.entries(ways)) {
			const found = await scoresOf(scorer, values);
			assert.equal(found.length, expected.length, way);
			for (const [index, outcome] of expected.entries())
				assert.equal(difference(found[index], outcome), 0, `${way}, case ${index}`);
		}
		assert.equal(scorer.status().cacheSize, 0);
		scorer.close();
		const scored = expected.filter(({ faults }) => !faults);
		counts.scored += scored.length;
		counts.rejected += expected.length - scored.length;
		if (profiles) counts.profiled += scored.length;
		for (const { score } of scored) counts.scores.add(score);
	};
	// On failure the message has the seed and the smallest input that fails.
	const cases = fc.array(anyValue(anyTrace), { maxLength: 160, size: "max" });
	const property = fc.asyncProperty(anyProfiles, cases, compare);
	for (let round = 0; counts.scored < TRACES; round++)
		await fc.assert(property, { numRuns: 10, seed: seed + round });
	// Otherwise the traces are too similar to prove anything.
	const { scored, rejected, profiled, scores } = counts;
	assert.ok(scores.size > scored / 20, `only ${scores.size} different scores`);
	assert.ok(profiled > scored / 8, `only ${profiled} with profiles of their own`);
	assert.ok(rejected > scored / 100, `only ${rejected} rejected`);
});
