/** Scores with the embedder against the oracle. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import fc from "fast-check";
import { anyTrace } from "../support/arbitraries.mjs";
import { draws, repeats, seed } from "../support/draws.mjs";
import { anyValue, built } from "../support/mutations.mjs";
import { anyText, comparable } from "../support/texts.mjs";
import { profiles as byDomain, words } from "../support/traces.mjs";
import { difference, embed, Oracle, settled, WAYS } from "./oracle.mjs";

const TOLERANCE = 1e-4;

/** The same tolerance for a novelty, which has a weight of at most 0.35 in the protocol. */
const NOVELTY_TOLERANCE = TOLERANCE / 0.35;

/** More calls than are in flight at once in a batch. */
const WIDEST = 80;

/** Weights that make the score the novelty. */
const profiles = { default: byDomain.novelty, finance: byDomain.novelty };

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

/** Ways to score values; that of reports also records novelties. */
const ways = {
	...WAYS,
	explainValue: (scorer, values) =>
		WAYS.explainValue(scorer, values, ({ dimensions }) => novelties.push(dimensions.novelty)),
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

/** The novelties of all plans. They must differ, or the texts are too similar to prove anything. */
const novelties = [];

const BLOCK = 64;

/** Longer texts of the generator would take most of the time. */
const ODD_LENGTH = 200;

/** Small changes of a text. */
const CHANGES = [
	(text) => text,
	(text) => text.toUpperCase(),
	(text) => text.replace(" ", "  "),
	(text, draw) => `${text} ${words(1, draw.below(1000))}`,
	(text, draw) => text.replace(/\S+/, words(1, draw.below(1000))),
	(text) => text.split(" ").reverse().join(" "),
	(text) => text.slice(0, text.length / 2),
];

/**
 * Yields values. A third of the texts are similar to an earlier one that is still in a cache of
 * `capacity`, has just left it, or left it long ago.
 */
function* sequence(seed, capacity) {
	const draw = draws(seed);
	const said = [];
	for (let block = 0; ; block++) {
		const sample = { numRuns: BLOCK, seed: (seed + block) % 2 ** 31 };
		const odd = fc.sample(anyText, sample);
		for (const one of fc.sample(anyValue(anyTrace), sample)) {
			const text =
				said.length > 0 && draw.number() < 0.33
					? changed(earlier(said, capacity, draw), draw)
					: fresh(odd.pop(), draw);
			yield built({ ...one, trace: saying(one.trace, text, draw) });
			// Invalid values are not cached, which moves the bounds a little.
			if (one.damage.length === 0) said.push(text);
		}
	}
}

function earlier(said, capacity, draw) {
	const back = draw.of([1, capacity - 1, capacity, capacity + 1, 1 + draw.below(said.length)]);
	return said.at(-back) ?? said[0];
}

function changed(text, draw) {
	return draw.of(CHANGES)(text, draw);
}

function fresh(odd, draw) {
	const kind = draw.number();
	if (kind < 0.04) return words(480 + draw.below(200), draw.below(1e9));
	if (kind < 0.2) return comparable(odd.slice(0, ODD_LENGTH));
	return words(1 + draw.below(14), draw.below(1e9));
}

/** Returns a trace with `text`: some of it as the objective, the rest in a step. */
function saying(trace, text, draw) {
	// A single thought always scores 0.1, but takes part in the cache like any other trace.
	const steps =
		draw.number() < 0.08
			? [{ type: "thought" }]
			: trace.steps.map((step) => ({ ...step, content: null }));
	if (steps.length === 0) return { ...trace, task: { objective: text }, steps };
	const cut = draw.below(text.length + 1);
	steps[draw.below(steps.length)].content = text.slice(cut);
	return { ...trace, task: { objective: text.slice(0, cut) }, steps };
}

for (const [index, { name, capacity, options = {}, count }] of PLANS.entries())
	test(`a scorer with ${name} scores ${count} values as the oracle does`, async (t) => {
		// Far enough apart that no sequences overlap.
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
			const way = Object.keys(ways)[round % Object.keys(ways).length];
			const found = await ways[way](scorer, values);
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
