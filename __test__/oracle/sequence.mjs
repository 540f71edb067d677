/** An endless sequence of values to score, many of whose texts resemble earlier ones. */

import fc from "fast-check";
import { anyTrace } from "../support/arbitraries.mjs";
import { draws } from "../support/draws.mjs";
import { anyValue, built } from "../support/oracle.mjs";
import { anyText, comparable } from "../support/texts.mjs";
import { words } from "../support/traces.mjs";

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
 * Yields values. The text of a third of them is similar to an earlier one: one that is still in a cache of
 * `capacity`, has just left it, or left it long ago.
 */
export function* sequence(seed, capacity) {
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
