/** What only a fresh process can show: the way to the first score, peak memory, scores in order. */

import { type Agreement, toleranceOf } from "./agreement.js";
import { fileOf, goldenScores } from "./cases.js";
import { runOnce } from "./child.js";
import type { FileRun } from "./file-process.js";
import type { FirstScore } from "./first-score-process.js";
import type { FilePlan } from "./plan.js";
import { collect, medianRow, type Row } from "./rows.js";
import type { BySide, Side } from "./sides.js";
import { inTurns } from "./turns.js";

/** What the code-review example scores where nothing has been scored before. */
const EXAMPLE = "5-step example";
const EXAMPLE_SCORE = 0.66875;
const EXAMPLE_TOLERANCE = 1e-12;

interface Start extends FirstScore {
	/** Milliseconds from starting the process until its message has come. */
	sinceStart: number;
}

/** The way to the first score, cold and warmed up, and the version of our ONNX Runtime. */
export async function measureFirstScore(
	sides: readonly Side[],
	plan: { firstScores: number; warmUps: number },
	agreement: Agreement,
): Promise<{ rows: Row[]; libraryVersion: string | null }> {
	const started = (repetitions: number, args: readonly string[]) =>
		inTurns(
			sides,
			repetitions,
			(side) => start(side, args),
			(results) => checkExample(results, agreement),
		);
	const cold = await started(plan.firstScores, []);
	const warm = await started(plan.warmUps, ["warm"]);
	const medians = (
		metric: string,
		starts: BySide<Start[]>,
		value: (start: Start) => number | null,
	) =>
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

async function start(side: Side, args: readonly string[]): Promise<Start> {
	const before = performance.now();
	let sinceStart = Number.NaN;
	const first = await runOnce<FirstScore>("first-score-process.js", side, args, () => {
		sinceStart = performance.now() - before;
	});
	return { ...first, sinceStart };
}

/** Without an earlier trace no score depends on the model: all sides must be right. */
function checkExample(results: BySide<Start>, agreement: Agreement): void {
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
export async function measureFile(
	sides: readonly Side[],
	name: string,
	plan: FilePlan,
	agreement: Agreement,
): Promise<Row[]> {
	const ids = fileOf(name).map((trace, index) => trace.id ?? `#${index}`);
	const golden = goldenScores(name);
	const recorded = golden && ids.map((id) => golden.get(id));
	const args = [name, String(plan.inFlight)];
	const runs = await inTurns(
		sides,
		plan.repetitions,
		(side) => runOnce<FileRun>("file-process.js", side, args),
		(results) => {
			agreement.compareBatches(`${name} unchanged`, ids, results);
			if (!recorded) return;
			for (const [side, { scores }] of results) {
				const what = `${name} unchanged, ${side} against golden`;
				agreement.check(what, ids, scores, recorded, toleranceOf(side));
			}
		},
	);
	const medians = (metric: string, value: (run: FileRun) => number) =>
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
