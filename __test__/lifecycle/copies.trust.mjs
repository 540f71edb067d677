import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../support/child.mjs";
import { copyPackage } from "../support/copies.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { says, words } from "../support/traces.mjs";

const ROUNDS = repeats(1);

/** Scores with two copies of the package at once, and ends in the way `input.way`. */
async function scoreWithBoth({ scoring, input, send }) {
	const { setTimeout: sleep } = await import("node:timers/promises");
	const other = await import(input.other);
	const copies = input.isOtherFirst ? [other, scoring] : [scoring, other];
	const calls = copies.map(({ evaluateValues }) => evaluateValues(input.traces));
	if (input.way === "return") return Promise.all(calls);
	await sleep(input.delay);
	send("exit");
	if (input.way === "exit") process.exit(input.code);
	throw new Error("thrown on purpose");
}

for (const way of ["return", "exit", "throw"])
	test(`two copies of the package score the same, and the process ends by ${way}`, async (t) => {
		const other = copyPackage(t);
		for (let round = 0; round < ROUNDS; round++) {
			const draw = draws(seed + round);
			const input = {
				way,
				other,
				traces: [0, 1, 2, 3, 4, 5].map((text) => says(words(text % 2 ? 300 : 5, seed + text))),
				isOtherFirst: draw.below(2) === 1,
				code: draw.below(100),
				delay: draw.below(300),
			};
			await repeatable(`round ${round}`, async () => {
				const { code, signal, value, stderr } = await run(scoreWithBoth, { input });
				const expected = { return: 0, exit: input.code, throw: 1 }[way];
				assert.deepEqual([code, signal], [expected, null], stderr);
				if (way === "return") assert.deepEqual(value[1], value[0]);
			});
		}
	});
