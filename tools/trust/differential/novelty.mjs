/** Scores with the embedder against the oracle. Runs in a process of its own. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { embed, Oracle } from "../../../benchmark/dist/typescript/oracle.js";
import { draws } from "../lib/draw.mjs";
import { distance, settled, settledAll } from "./compare.mjs";
import { sequence } from "./sequence.mjs";

const TOLERANCE = 1e-4;

/** What that comes to in a novelty, which the protocol gives a weight of 0.35 at most. */
const NOVELTY_TOLERANCE = TOLERANCE / 0.35;

/** More calls than are in flight at once in a batch. */
const WIDEST = 80;

/** A score that is the novelty and nothing else shows it undiluted. */
const NOVELTY = {
	complexity: 0,
	novelty: 1,
	toolDiversity: 0,
	outcomeConfidence: 0,
};
const profiles = { default: NOVELTY, finance: NOVELTY };

/** The scorers; in full, more traces go through each than its cache holds. */
const PLANS = [
	{ name: "1,000 entries", capacity: 1000, short: 400, full: 2100 },
	{
		name: "100 entries, scores of novelty alone",
		capacity: 100,
		options: { profiles, cache: { maxElements: 100 } },
		...{ short: 110, full: 500 },
	},
	{
		name: "7 entries, the native backend",
		capacity: 7,
		options: { profiles, cache: { maxElements: 7 }, backend: "native" },
		...{ short: 20, full: 200 },
	},
	{
		name: "1 entry, one thread",
		capacity: 1,
		options: { profiles, cache: { maxElements: 1, ttlMs: 1e9 }, threads: 1 },
		...{ short: 10, full: 100 },
	},
	{
		name: "entries that expire at once",
		capacity: 1,
		options: { profiles, cache: { ttlMs: 0 } },
		...{ short: 10, full: 30 },
	},
];

/** Ways to score values in order; each gives their outcomes. */
const WAYS = {
	batch: settledAll,
	calls: (scorer, values) =>
		Promise.all(values.map((value) => settled(scorer.evaluateValue(value)))),
	explained: async (scorer, values, novelties) => {
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

/** Scores values by a scorer of its own for each plan; a failure names the value and its place. */
export async function check(scoring, { short, seed }, log) {
	const total = { protocol: 0, novelty: 0, refused: 0, novelties: [] };
	// How far apart two scores are at most, by the protocol's weights and by those above.
	const greatest = { protocol: 0, novelty: 0 };
	for (const [index, plan] of PLANS.entries()) {
		const count = short ? plan.short : plan.full;
		// Far enough apart that no two sequences have a part in common.
		const from = seed + index * 4096;
		const apart = await follow({ scoring, total }, plan, count, from);
		const weights = plan.options ? "novelty" : "protocol";
		greatest[weights] = Math.max(greatest[weights], apart);
		log(`with the embedder: ${plan.name}: ${count} or more, ${apart} apart`);
	}
	const { novelties, ...tally } = total;
	// Otherwise the texts would be too much alike, or too little, to show anything.
	assert.ok(novelties.some((novelty) => novelty < 1e-6));
	assert.ok(novelties.some((novelty) => novelty > 1e-3 && novelty < 0.3));
	assert.ok(novelties.some((novelty) => novelty > 0.6));
	return { ...tally, greatest };
}

async function follow({ scoring, total }, plan, count, seed) {
	const { name, capacity, options } = plan;
	const scorer = options ? new scoring.Scorer(options) : scoring;
	const { embedder } = await scorer.warmup();
	assert.equal(embedder.state, "ready", embedder.reason);
	const { profiles, cache } = options ?? {};
	const reference = new Oracle({ embed, profiles, cache });
	const draw = draws(seed);
	const source = sequence(seed, capacity);
	const tolerance = options ? NOVELTY_TOLERANCE : TOLERANCE;
	const ways = Object.keys(WAYS);
	let round = 0;
	let place = 0;
	let greatest = 0;
	for (let scored = 0; scored < count; ) {
		const values = Array.from({ length: 1 + draw.below(WIDEST) }, () => source.next().value);
		const expected = [];
		for (const value of values) expected.push(await reference.evaluate(value));
		const way = ways[round++ % ways.length];
		const found = await WAYS[way](scorer, values, total.novelties);
		assert.equal(found.length, values.length, way);
		for (const [index, outcome] of expected.entries()) {
			try {
				const apart = distance(found[index], outcome, tolerance);
				greatest = Math.max(greatest, apart);
			} catch (error) {
				const which = `seed ${seed}, ${name}, ${way}, value ${place + index}`;
				const value = inspect(values[index], { depth: 4 });
				throw new Error(`${which}: ${error.message}\n${value}`);
			}
			if (outcome.score === undefined) total.refused += 1;
			else {
				scored += 1;
				total[options ? "novelty" : "protocol"] += 1;
			}
		}
		place += values.length;
		const { cacheSize } = scorer.status();
		assert.equal(cacheSize, reference.cacheSize, `${name}, after ${place}`);
	}
	scorer.close?.();
	return greatest;
}
