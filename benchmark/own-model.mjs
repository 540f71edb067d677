/**
 * Compares the plain float32 export of the built-in model as a custom model with transformers.js, alternately:
 * medians in milliseconds, and the longest delay of the event loop.
 *
 * node benchmark/own-model.mjs [ROUNDS]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { plainFolder, referenceEmbedder } from "../__test__/support/own-models.mjs";
import { Scorer } from "../lib/entries/index.mjs";
import { generateTrace } from "./generate.mjs";
import { inTurns } from "./processes.mjs";
import { LOOP_RESOLUTION, median, timed, watched } from "./statistics.mjs";

const TOKENS = [20, 128, 512];

/** Rounds in which the event loop is watched. */
const WATCHED = 8;

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

const sides = {
	here: (text) => scorer.embed(text),
	there: reference,
};

for (const tokens of TOKENS) {
	const run = (side) => sides[side](text(tokens));
	const stalls = await inTurns(Object.keys(sides), WATCHED, async (side) => {
		const { loop } = await watched(async () => {
			// Ticks before and after, between which a delay is seen.
			await sleep(5 * LOOP_RESOLUTION);
			await run(side);
			await sleep(5 * LOOP_RESOLUTION);
		});
		return loop.max;
	});
	const times = await inTurns(Object.keys(sides), rounds, async (side) => {
		const { times } = await timed(Array(TURN).fill(side), 1, run);
		return times.slice(UNTIMED);
	});
	const [here, there] = Object.values(times).map((all) => median(all.flat()));
	const [stall, otherStall] = Object.values(stalls).map(median);
	console.log(
		`${tokens} tokens: here ${here.toFixed(1)} ms (event loop ${stall.toFixed(1)}), ` +
			`transformers.js ${there.toFixed(1)} ms (event loop ${otherStall.toFixed(1)}), ratio ${(here / there).toFixed(3)}`,
	);
}
