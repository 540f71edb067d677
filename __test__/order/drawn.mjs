/** Traces as a busy service gets them: mostly some hundred tokens, now and then none or 10 MB. */

import { trace, words } from "../support/traces.mjs";

const HUGE = Array.from({ length: 3 }, (_, seed) => {
	const page = words(2_000, seed);
	return page.repeat(Math.ceil(10_000_000 / page.length));
});

const observation = (content) => [{ type: "observation", content }];

/** Sizes, each with the upper bound of the numbers below 1 that draw it. */
const SIZES = [
	[0.03, () => ({ objective: "", steps: [] })],
	[0.035, ({ of }) => ({ steps: observation(of(HUGE)) })],
	[
		0.045,
		({ below }) => ({
			steps: Array.from({ length: 1000 }, () => ({
				type: "tool_call",
				content: words(3, below(50)),
				tool: { name: `tool ${below(9)}` },
			})),
		}),
	],
	[0.075, () => ({ steps: [{ type: "thought", content: "Nothing to add." }] })],
	[1, ({ below }) => ({ steps: observation(words(15 + below(below(480)), below(2 ** 30))) })],
];

const BAD = [
	() => null,
	() => ({}),
	(good) => ({ ...good, outcome: { confidence: 2 } }),
	(good) => ({ ...good, steps: [...good.steps, { type: 5 }] }),
	(good) => ({ ...good, steps: new Array(2 ** 32 - 1) }),
	() => new Proxy([], {}),
];

/** Returns a trace and whether it is invalid. `index` makes its objective unique. */
export function drawnTrace(draw, index) {
	const size = draw.number();
	const [, make] = SIZES.find(([upTo]) => size < upTo);
	const good = trace({ objective: `Task ${index}`, ...make(draw) });
	const isBad = draw.number() < 0.05;
	return { trace: isBad ? draw.of(BAD)(good) : good, isBad };
}
