/**
 * Compares the plain float32 export of the built-in model as a custom model with transformers.js, alternately:
 * medians in milliseconds, and the longest delay of the event loop.
 *
 * node benchmark/own-model.mjs [ROUNDS]
 */
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { plainFolder, referenceEmbedder } from "../__test__/support/own-models.mjs";
import { Scorer } from "../lib/entries/index.mjs";
import { generateTrace } from "./generate.mjs";
import { median, timed } from "./statistics.mjs";

const TOKENS = [20, 128, 512];

/** Rounds in which the event loop is watched. */
const WATCHED = 8;
const PAUSE_MS = 60;

/**
 * Texts of a turn. The first ones are not timed, because a scheduler may take milliseconds to distribute
 * threads over cores.
 */
const TURN = 9;
const UNTIMED = 4;

const rounds = Number(process.argv[2] ?? 24);
const scorer = new Scorer({ model: plainFolder, pooling: "mean", embedder: "required" });
const reference = await referenceEmbedder(plainFolder, "mean");

let count = 0;

/** Returns a new text of `tokens` tokens each time, because of the memo. */
function text(tokens) {
	return generateTrace(count++, { words: tokens - 2, steps: 0 }).task.objective;
}

/** The times of texts one after another. */
async function timesOf(run) {
	// Threads of the other side may keep spinning for a while.
	await setTimeout(PAUSE_MS);
	const { times } = await timed(Array(TURN).fill(run), 1, (one) => one());
	return times.slice(UNTIMED);
}

/** The longest delay of the event loop during `run`. */
async function stalled(run) {
	await setTimeout(PAUSE_MS);
	const begin = performance.now();
	let [last, stall] = [begin, 0];
	const tick = () => {
		const now = performance.now();
		stall = Math.max(stall, now - last);
		last = now;
	};
	const timer = setInterval(tick, 1);
	await run();
	tick();
	clearInterval(timer);
	return stall;
}

for (const tokens of TOKENS) {
	const times = { here: [], there: [] };
	const stalls = { here: [], there: [] };
	for (let round = 0; round < WATCHED + rounds; round++) {
		const runs = [
			["here", () => scorer.embed(text(tokens))],
			["there", () => reference(text(tokens))],
		];
		for (const [name, run] of round % 2 ? runs : runs.reverse()) {
			// A tick every millisecond also takes time.
			if (round < WATCHED) stalls[name].push(await stalled(run));
			else times[name].push(...(await timesOf(run)));
		}
	}
	const figures = (name) =>
		`${median(times[name]).toFixed(1)} ms (event loop ${median(stalls[name]).toFixed(1)})`;
	const ratio = median(times.here) / median(times.there);
	console.log(
		`${tokens} tokens: here ${figures("here")}, transformers.js ${figures("there")}, ratio ${ratio.toFixed(3)}`,
	);
}
