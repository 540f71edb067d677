/** Scores without the embedder against the oracle, bit for bit. Runs in a process of its own. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Oracle } from "../../../benchmark/dist/typescript/oracle.js";
import { anyCase, anyProfiles, built } from "./cases.mjs";
import { distance, settled, settledAll } from "./compare.mjs";

/** Runs of fast-check to a round; about 80 cases to a run. */
const RUNS = 100;

/** Every way to a score: each gives the outcomes of all values in order. */
const WAYS = {
	evaluateValues: settledAll,
	evaluateValue: (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value)))),
	"evaluateValue, remember: false": (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value, { remember: false })))),
	explainValue: (scorer, values) =>
		Promise.all(
			values.map((value) => settled(scorer.explainValue(value).then(({ score }) => score))),
		),
};

/** Scores generated traces; a failure names the smallest input that fails. */
export async function check(scoring, { short, seed }, log) {
	const count = short ? 10_000 : 100_000;
	const tally = { scored: 0, refused: 0, profiled: 0, scores: new Set() };

	const compare = async (profiles, cases) => {
		const values = cases.map(built);
		const reference = new Oracle({ profiles });
		const expected = await Promise.all(values.map((value) => reference.evaluate(value)));
		const scorer = profiles ? new scoring.Scorer({ profiles, embedder: "off" }) : scoring;
		for (const [way, score] of Object.entries(WAYS)) {
			const found = await score(scorer, values);
			assert.equal(found.length, expected.length, way);
			for (const [index, outcome] of expected.entries())
				try {
					distance(found[index], outcome);
				} catch (error) {
					throw new Error(`${way}, case ${index}: ${error.message}`);
				}
		}
		assert.equal(scorer.status().cacheSize, 0);
		scorer.close?.();
		for (const { score } of expected) {
			if (score === undefined) tally.refused += 1;
			else {
				tally.scored += 1;
				tally.profiled += profiles ? 1 : 0;
				tally.scores.add(score);
			}
		}
	};

	const cases = fc.array(anyCase, { maxLength: 160, size: "max" });
	for (let round = 0; tally.scored < count; round++) {
		const property = fc.asyncProperty(anyProfiles, cases, compare);
		await fc.assert(property, { numRuns: RUNS, seed: seed + round });
		log(`traces without the embedder: ${tally.scored} of ${count}`);
	}
	const { scored, refused, profiled, scores } = tally;
	// Otherwise the traces would be too much alike to show anything.
	assert.ok(scores.size > scored / 20, `only ${scores.size} different scores`);
	assert.ok(profiled > scored / 8, `only ${profiled} by profiles of their own`);
	assert.ok(refused > scored / 100, `only ${refused} refused`);
	return { scored, refused, profiled, distinct: scores.size };
}
