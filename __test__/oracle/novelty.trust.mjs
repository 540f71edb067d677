/** Scores with the embedder against the oracle. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { draws, seed } from "../support/draws.mjs";
import { difference, settled } from "../support/oracle.mjs";
import { repeats } from "../support/repeats.mjs";
import { embed, Oracle } from "./oracle.mjs";
import { sequence } from "./sequence.mjs";

const TOLERANCE = 1e-4;

/** The same tolerance for a novelty, which has a weight of at most 0.35 in the protocol. */
const NOVELTY_TOLERANCE = TOLERANCE / 0.35;

/** More calls than are in flight at once in a batch. */
const WIDEST = 80;

/** Makes the score the novelty. */
const NOVELTY = { complexity: 0, novelty: 1, toolDiversity: 0, outcomeConfidence: 0 };
const profiles = { default: NOVELTY, finance: NOVELTY };

/** The scorers; in a long run, more traces go through each than its cache holds. */
const PLANS = [
	{ name: "1,000 entries", capacity: 1000, count: repeats(400) },
	{
		name: "100 entries and scores of novelty alone",
		capacity: 100,
		options: { profiles, cache: { maxElements: 100 } },
		count: repeats(110),
	},
	{
		name: "7 entries and the native backend",
		capacity: 7,
		options: { profiles, cache: { maxElements: 7 }, backend: "native" },
		count: repeats(20),
	},
	{
		name: "1 entry and one thread",
		capacity: 1,
		options: { profiles, cache: { maxElements: 1, ttlMs: 1e9 }, threads: 1 },
		count: repeats(10),
	},
	{
		name: "entries that expire at once",
		capacity: 1,
		options: { profiles, cache: { ttlMs: 0 } },
		count: repeats(10),
	},
];

/** Ways to score values in order; each returns their scores or errors. */
const WAYS = {
	batch: async (scorer, values) =>
		(await scorer.evaluateValues(values, { errors: "collect" })).map(
			(found) => found.error ?? found,
		),
	calls: (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value)))),
	explained: async (scorer, values) => {
		const reports = await Promise.all(values.map((value) => settled(scorer.explainValue(value))));
		return reports.map((report) => {
			if (report instanceof Error) return report;
			novelties.push(report.dimensions.novelty);
			return report.score;
		});
	},
	"peek first": async (scorer, values) => {
		const found = [];
		for (const value of values) {
			const peeked = await settled(scorer.evaluateValue(value, { remember: false }));
			const score = await settled(scorer.evaluateValue(value));
			if (typeof score === "number" && !Object.is(peeked, score))
				throw new Error(`the score ${score} after a peek of ${peeked}`);
			found.push(score);
		}
		return found;
	},
};

/** Novelties of all plans: they must differ, or the texts would be too similar to show anything. */
const novelties = [];

for (const [index, { name, capacity, options = {}, count }] of PLANS.entries())
	test(`a scorer with ${name} scores ${count} values as the oracle does`, async (t) => {
		// Far enough apart that no two sequences have a part in common.
		const from = seed + index * 4096;
		const draw = draws(from);
		const source = sequence(from, capacity);
		const { profiles, cache } = options;
		const tolerance = profiles ? NOVELTY_TOLERANCE : TOLERANCE;
		const scorer = new Scorer(options);
		const oracle = new Oracle({ embed, profiles, cache });
		const { embedder } = await scorer.warmup();
		assert.equal(embedder.state, "ready", embedder.reason);
		let greatest = 0;
		let round = 0;
		for (let scored = 0; scored < count; round++) {
			const values = Array.from({ length: 1 + draw.below(WIDEST) }, () => source.next().value);
			const expected = [];
			for (const value of values) expected.push(await oracle.evaluate(value));
			const way = Object.keys(WAYS)[round % Object.keys(WAYS).length];
			const found = await WAYS[way](scorer, values);
			assert.equal(found.length, values.length, way);
			for (const [at, outcome] of expected.entries()) {
				const apart = difference(found[at], outcome);
				greatest = Math.max(greatest, apart);
				if (apart <= tolerance) continue;
				const which = `KP_SEED=${seed}, ${way}, round ${round}, value ${at}`;
				const value = inspect(values[at], { depth: 4 });
				assert.fail(`${which}: ${found[at]} for ${JSON.stringify(outcome)}\n${value}`);
			}
			scored += expected.filter(({ score }) => score !== undefined).length;
			assert.equal(scorer.status().cacheSize, oracle.cacheSize, `round ${round}`);
		}
		scorer.close();
		t.diagnostic(`${greatest} apart at most`);
	});

test("the generated traces have novelties of every size", () => {
	assert.ok(novelties.some((novelty) => novelty < 1e-6));
	assert.ok(novelties.some((novelty) => novelty > 1e-3 && novelty < 0.3));
	assert.ok(novelties.some((novelty) => novelty > 0.6));
});
