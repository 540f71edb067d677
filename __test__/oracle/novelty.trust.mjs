/** Scores with the embedder against the oracle. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { draws, repeats, seed } from "../support/draws.mjs";
import { profiles as byDomain, trace, words } from "../support/traces.mjs";
import { difference, embed, Oracle, WAYS } from "./oracle.mjs";

/** For a score that is the novelty alone, which has a weight of at most 0.35 in the protocol. */
const TOLERANCE = 1e-4 / 0.35;

/** Small changes of a text. */
const CHANGES = [
	(text) => text,
	(text) => text.toUpperCase(),
	(text, draw) => `${text} ${words(1, draw.below(1000))}`,
	(text) => text.split(" ").reverse().join(" "),
	(text) => text.slice(0, text.length / 2),
];

/** Traces, of which a third are similar to one that is still in a cache of `capacity`, or left it earlier. */
function traces(draw, capacity, count) {
	const said = [];
	return Array.from({ length: count }, () => {
		const back = draw.of([1, capacity, capacity + 1, 1 + draw.below(said.length + 1)]);
		const length = draw.number() < 0.04 ? 480 + draw.below(200) : 1 + draw.below(14);
		const text =
			draw.number() < 0.33 && said.length > 0
				? draw.of(CHANGES)(said.at(-back) ?? said[0], draw)
				: words(length, draw.below(1e9));
		said.push(text);
		// Some of it is the objective, the rest is in a step.
		const cut = draw.below(text.length + 1);
		const steps = [{ type: "observation", content: text.slice(cut) }];
		return trace({ domain: "novelty", objective: text.slice(0, cut), steps });
	});
}

const novelties = [];

for (const [capacity, count] of [
	[1000, repeats(400)],
	[7, repeats(40)],
])
	test(`a scorer with ${capacity} entries scores ${count} traces as the oracle does`, async () => {
		const draw = draws(seed + capacity);
		const options = { profiles: { novelty: byDomain.novelty }, cache: { maxElements: capacity } };
		const scorer = new Scorer(options);
		const oracle = new Oracle({ embed, ...options });
		const all = traces(draw, capacity, count);
		for (let round = 0; all.length > 0; round++) {
			const some = all.splice(0, 1 + draw.below(80));
			const expected = [];
			for (const one of some) expected.push(await oracle.evaluate(one));
			const way = Object.keys(WAYS)[round % Object.keys(WAYS).length];
			for (const [at, found] of (await WAYS[way](scorer, some)).entries()) {
				const apart = difference(found, expected[at]);
				const which = `KP_SEED=${seed}, ${way}, ${JSON.stringify(some[at])}`;
				assert.ok(apart <= TOLERANCE, `${which}: ${found} for ${expected[at].score}`);
				novelties.push(found);
			}
			assert.equal(scorer.status().cacheSize, oracle.cacheSize, `round ${round}`);
		}
	});

test("the generated traces have novelties of every size", () => {
	assert.ok(novelties.some((novelty) => novelty < 1e-6));
	assert.ok(novelties.some((novelty) => novelty > 1e-3 && novelty < 0.3));
	assert.ok(novelties.some((novelty) => novelty > 0.6));
});
