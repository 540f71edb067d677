/** Measurements in fresh processes: time to the first score, peak memory, scores in order. */

import { toleranceOf } from "./agreement.mjs";
import { fileOf, goldenScores } from "./cases.mjs";
import { inTurns, runOnce } from "./processes.mjs";
import { collect, medianRow } from "./results.mjs";

/** The code-review example, and its score with an empty cache. */
const EXAMPLE = "5-step example";
const EXAMPLE_SCORE = 0.66875;
const EXAMPLE_TOLERANCE = 1e-12;

/** The way to the first score, cold and warmed up, and the version of our ONNX Runtime. */
export async function measureFirstScore(sides, plan, agreement) {
	const started = (repetitions, args) =>
		inTurns(
			sides,
			repetitions,
			(side) => start(side, args),
			(results) => checkExample(results, agreement),
		);
	const cold = await started(plan.firstScores, []);
	const warm = await started(plan.warmUps, ["warm"]);
	const medians = (metric, starts, value) =>
		medianRow(
			EXAMPLE,
			metric,
			collect(starts, (start) => [value(start)].filter((time) => time !== null)),
		);
	const rows = [
		medians("first score after start, ms", cold, (start) => start.sinceStart),
		medians("import, ms", cold, (start) => start.importTime),
		medians("import transformers.js, ms", warm, (start) => start.libraryImportTime),
		medians("warm-up, ms", warm, (start) => start.warmUpTime),
		medians("first score after warm-up, ms", warm, (start) =>
			start.warmUpTime === null ? null : start.scoreTime,
		),
	];
	const [first] = cold.get("exact") ?? [];
	return { rows, libraryVersion: first?.libraryVersion ?? null };
}

async function start(side, args) {
	const before = performance.now();
	let sinceStart = Number.NaN;
	const first = await runOnce("first-score-process.mjs", side, args, () => {
		sinceStart = performance.now() - before;
	});
	return { ...first, sinceStart };
}

/** Without an earlier trace no score depends on the model: all sides must be right. */
function checkExample(results, agreement) {
	for (const [side, { score }] of results) {
		agreement.check(
			`${EXAMPLE}, ${side} against the documents`,
			[EXAMPLE],
			[score],
			[EXAMPLE_SCORE],
			EXAMPLE_TOLERANCE,
		);
	}
}

/**
 * Scores a whole file in fresh processes of each side, and checks the scores against each other and
 * against the golden ones.
 */
export async function measureFile(sides, name, plan, agreement) {
	const ids = fileOf(name).map((trace, index) => trace.id ?? `#${index}`);
	const golden = goldenScores(name);
	const recorded = golden && ids.map((id) => golden.get(id));
	const args = [name, String(plan.inFlight)];
	const runs = await inTurns(
		sides,
		plan.repetitions,
		(side) => runOnce("file-process.mjs", side, args),
		(results) => {
			agreement.compareBatches(`${name} unchanged`, ids, results);
			if (!recorded) return;
			for (const [side, { scores }] of results) {
				const what = `${name} unchanged, ${side} against golden`;
				agreement.check(what, ids, scores, recorded, toleranceOf(side));
			}
		},
	);
	const medians = (metric, value) =>
		medianRow(
			name,
			metric,
			collect(runs, (run) => [value(run)]),
		);
	const where = `${plan.inFlight} in flight`;
	if (plan.metric === "memory") {
		return [medians(`peak RSS, ${where}, MB`, (run) => run.peakMemory)];
	}
	return [
		medians(`loop p99, ${where}, ms`, (run) => run.delay.p99),
		medians(`loop max, ${where}, ms`, (run) => run.delay.max),
	];
}
