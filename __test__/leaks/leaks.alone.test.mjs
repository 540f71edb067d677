/** Memory that grows with the number of calls: a line is fitted through samples after a warm-up. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertEndedWell, run } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { fit, LOADS } from "./loads.mjs";

const MIB = 2 ** 20;
const SAMPLES = 12;
const KILL_AFTER_MS = 1_200_000;

/**
 * More growth over a run is a leak, unless the load has another limit: V8 and the allocator vary by a few
 * megabytes.
 */
const MOST_GROWTH = 4 * MIB;

/** Runs in the child process, whose working folder is `__test__`. */
const body = async ({ scoring, input }) => {
	const { measure } = await import("./leaks/loads.mjs");
	return measure(scoring, input);
};

for (const [name, load] of Object.entries(LOADS))
	test(`memory does not grow with ${name}`, async (t) => {
		const count = repeats(load.count);
		// Caches of a thousand entries have to fill, and the arenas of the allocators to settle.
		const warmUp = load.warmUp ?? Math.ceil(1.5 * load.count);
		const ended = await run(body, {
			input: { name, warmUp, count, samples: SAMPLES },
			env: load.env,
			// The young generation of V8 grows independently, by more than a leak would.
			execArgv: ["--expose-gc", "--max-semi-space-size=2"],
			killAfterMs: KILL_AFTER_MS,
		});
		assertEndedWell(ended);
		const points = ended.value;
		const { slope, error } = fit(points.map(({ done, own }) => [done, own]));
		const growth = slope * count;
		const [first, last] = [points[0], points.at(-1)].map(
			({ resident }) => `${(resident / MIB).toFixed(1)} MB`,
		);
		const found =
			`${slope.toFixed(2)} ± ${error.toFixed(2)} bytes each, ` +
			`${(growth / MIB).toFixed(2)} MB in all (resident, with mapped files: ${first} at first, ${last} at last)`;
		t.diagnostic(`${count} times: ${found}`);
		assert.ok(
			growth <= (load.mostGrowth ?? MOST_GROWTH) || slope <= 3 * error,
			`memory grows by ${found}`,
		);
	});

const PEAK = async ({ scoring, input }) => {
	const { peakOf } = await import("./leaks/loads.mjs");
	return peakOf(scoring, input);
};

for (const what of [
	"scorers that are restored",
	"scorers that are closed",
	"caches of vectors",
	"caches of scorers",
	"logs that are half read",
])
	test(`memory of 87 ${what} and dropped is collected unasked`, async (t) => {
		const ended = await run(PEAK, { input: what, killAfterMs: KILL_AFTER_MS });
		assertEndedWell(ended);
		t.diagnostic(`${ended.value.toFixed()} MB`);
		assert.ok(ended.value <= 400, `${ended.value} MB`);
	});
