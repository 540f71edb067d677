import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, test } from "node:test";
import { run, valueFrom } from "../support/child.mjs";
import { copyPackage } from "../support/copies.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { says, words } from "../support/traces.mjs";

const ROUNDS = repeats(1);
const LONGER_MS = 2_000;

/** Runs `one(input)` in a child for each round, with a moment, a delay and a seed that are drawn. */
async function inRounds(name, one) {
	for (let round = 0; round < ROUNDS; round++) {
		const draw = draws(seed + round);
		const moment = draw.of(["imported", "called", "scored"]);
		const input = { moment, delay: draw.below(100), seed: draw.below(2 ** 30) };
		await repeatable(`${name}: ${JSON.stringify(input)}`, () => one(input));
	}
}

/** Runs a function of fifty.mjs that exits with 7; returns how long the exit took, in milliseconds. */
async function exitOf(name, input) {
	let askedAt;
	const { code, signal, stdout, stderr } = await run(
		async (context) => (await import("./lifecycle/fifty.mjs"))[context.input.name](context),
		{
			input: { ...input, name },
			preload: false,
			onValue: () => {
				askedAt = performance.now();
			},
		},
	);
	const expected = { code: 7, signal: null, stdout: "", stderr: "" };
	assert.deepEqual({ code, signal, stdout, stderr }, expected);
	return performance.now() - askedAt;
}

describe("fifty contexts that load the package at once", () => {
	test("fifty workers score as the main thread does", () =>
		inRounds("score", (input) =>
			valueFrom(async (context) => (await import("./lifecycle/fifty.mjs")).score(context), {
				input,
			}),
		));

	test("worker.terminate() ends fifty workers", () =>
		inRounds("terminate", (input) =>
			valueFrom(async (context) => (await import("./lifecycle/fifty.mjs")).terminate(context), {
				input,
			}),
		));

	test("process.exit() ends fifty workers, and takes little longer than without the addon", () =>
		inRounds("exit", async (input) => {
			const idle = await exitOf("exitIdle", input);
			const took = await exitOf("exit", input);
			assert.ok(took <= LONGER_MS + Math.max(LONGER_MS, idle), `${took} ms, idle ones ${idle} ms`);
		}));

	test("fifty contexts of vm, each with modules of its own, score as the main context does", () =>
		inRounds("vm", (input) =>
			valueFrom(
				async (context) => (await import("./lifecycle/fifty.mjs")).scoreInContexts(context),
				{ input },
			),
		));
});

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

describe("two copies of the package in one process", () => {
	for (const way of ["return", "exit", "throw"])
		test(`two copies score the same, and the process ends by ${way}`, async (t) => {
			const { folder, entry } = copyPackage();
			t.after(() => rmSync(folder, { recursive: true }));
			for (let round = 0; round < ROUNDS; round++) {
				const draw = draws(seed + round);
				const input = {
					way,
					other: entry,
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
});
