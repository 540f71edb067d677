/**
 * Measures the cost of a call without the model: node benchmark/calls.mjs [CHECKOUT…] This checkout,
 * TypeScript, and the given checkouts alternate in the same process; all must give the same scores.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { evaluateWithoutEmbedder } from "../__test__/oracle/evaluate-value.mjs";
import { generateTrace } from "./generate.mjs";
import { median } from "./statistics.mjs";

const ROUNDS = 41;
const WARM_UP = 10;
const COUNT = 1000;
/** Calls between two readings of the clock. */
const BLOCK = 50;

const SIZES = { "5 steps": { words: 18, steps: 5 }, "20 steps": { words: 540, steps: 20 } };

const perTrace = (start, count) => (1000 * (performance.now() - start)) / count;

/** Each returns scores, and microseconds for one trace. */
const ways = {
	"JS thread for one call, µs": async (evaluate, traces) => {
		const scores = [];
		const times = [];
		for (let first = 0; first < traces.length; first += BLOCK) {
			const block = traces.slice(first, first + BLOCK);
			const start = performance.now();
			const promises = block.map((trace) => evaluate(trace));
			times.push(perTrace(start, block.length));
			scores.push(...(await Promise.all(promises)));
		}
		return { scores, time: median(times) };
	},
	"round trip, µs": async (evaluate, traces) => {
		const scores = [];
		const start = performance.now();
		for (const trace of traces) scores.push(await evaluate(trace));
		return { scores, time: perTrace(start, traces.length) };
	},
	[`traces/s, ${COUNT} in flight`]: async (evaluate, traces) => {
		const start = performance.now();
		const scores = await Promise.all(traces.map((trace) => evaluate(trace)));
		return { scores, time: perTrace(start, traces.length) };
	},
};

// Hides the warning that the model is off, as intended here.
process.removeAllListeners("warning");
const require = createRequire(import.meta.url);
function ofCheckout(path) {
	const { Scorer } = require(path);
	const scorer = new Scorer({ embedder: "off" });
	return (trace) => scorer.evaluateValue(trace);
}
const checkouts = process.argv.slice(2).map((path) => resolve(path));
const sides = [
	ofCheckout(".."),
	async (trace) => evaluateWithoutEmbedder(trace),
	...checkouts.map(ofCheckout),
];
console.log(["this checkout", "TypeScript", ...checkouts].join(" | "));

for (const [size, shape] of Object.entries(SIZES)) {
	const traces = Array.from({ length: COUNT }, (_, seed) => generateTrace(seed, shape));
	for (const [way, run] of Object.entries(ways)) {
		const times = sides.map(() => []);
		let expected;
		for (let round = 0; round < ROUNDS; round++) {
			for (const turn of sides.keys()) {
				const side = (turn + round) % sides.length;
				const { scores, time } = await run(sides[side], traces);
				expected ??= scores;
				assert.deepEqual(scores, expected);
				if (round >= WARM_UP) times[side].push(time);
			}
		}
		const figures = times
			.map(median)
			.map((microseconds) =>
				way.startsWith("traces/s")
					? Math.round(1e6 / microseconds).toLocaleString("en")
					: microseconds.toFixed(2),
			);
		console.log(`${size}: ${way}: ${figures.join(" | ")}`);
	}
}
