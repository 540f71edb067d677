/**
 * Compares `decide` on recorded airline runs with scoring each of them: node benchmark/decisions.mjs
 * [--precision fast] [--threshold 0.75]
 */
import { parseArgs } from "node:util";
import { Scorer } from "../lib/entries/index.mjs";
import { fileOf } from "./cases.mjs";
import { mark } from "./generate.mjs";
import { inTurns } from "./processes.mjs";
import { median, timed } from "./statistics.mjs";

const { values } = parseArgs({
	options: {
		precision: { type: "string", default: "exact" },
		threshold: { type: "string", default: "0.75" },
	},
});
const { precision } = values;
const threshold = Number(values.threshold);

const ROUNDS = 3;
const IN_FLIGHT = 16;
const REPETITIONS = 40;

// Hides the warning that the model is off, as intended here.
process.removeAllListeners("warning");
const runs = fileOf("airline");

const deciding = new Scorer({ precision, threshold });
const scoring = new Scorer({ precision });
await scoring.warmup();
const calls = [(trace) => deciding.decide(trace), (trace) => scoring.evaluateValue(trace)];
const found = await inTurns([0, 1], ROUNDS, (side, round) => {
	// Other texts for each side, because of the memo.
	const marked = runs.map((run) => mark(run, 2 * round + side));
	return timed(marked, IN_FLIGHT, calls[side]);
});
const [decisions, scores] = Object.values(found).map((all) =>
	median(all.map(({ elapsed }) => (1000 * runs.length) / elapsed)),
);
const decided = found[0].flatMap(({ results }) => results);
const texts = decided.filter(({ score, accepted }) => score !== null || accepted).length;
console.log(
	`${decisions.toFixed(1)} decisions a second, ${scores.toFixed(1)} scores: ${(decisions / scores).toFixed(2)} times as many; ` +
		`${texts / ROUNDS} of ${runs.length} texts embedded`,
);

const off = new Scorer({ embedder: "off" });
const byBounds = [];
for (const run of runs)
	if ((await off.decide(run, { threshold })).score === null) byBounds.push(run);
const times = { decide: [], off: [] };
for (let repetition = 0; repetition < REPETITIONS; repetition++)
	for (const run of byBounds) {
		times.off.push(...(await timed([run], 1, () => off.evaluateValue(run))).times);
		times.decide.push(...(await timed([run], 1, () => deciding.decide(run))).times);
	}
const [alone, bare] = [times.decide, times.off].map((all) => 1000 * median(all));
console.log(
	`${alone.toFixed(1)} µs for one of ${byBounds.length} decisions without the model, ` +
		`${bare.toFixed(1)} µs for a score with the embedder off: ${(alone / bare).toFixed(2)} times as long`,
);
