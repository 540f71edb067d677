/** What only a fresh process can show: the way to the first score, peak memory, scores in order. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Agreement } from "./agreement.js";
import { goldenScores, tracesOf } from "./cases.js";
import { runOnce } from "./child.js";
import type { FileRun } from "./file-process.js";
import type { FirstScore } from "./first-score-process.js";
import { PAUSE } from "./measure-cases.js";
import type { FilePlan } from "./plan.js";
import { bySide, type Row, row } from "./rows.js";
import { SIDES, type Side } from "./scorers.js";
import { median, quartiles } from "./statistics.js";

/** What the code-review example scores where nothing has been scored before. */
const EXAMPLE_SCORE = 0.66875;
const EXAMPLE_TOLERANCE = 1e-12;

/** The time to the first score, and the version of our ONNX Runtime. */
export async function measureFirstScore(
	repetitions: number,
	agreement: Agreement,
): Promise<{ row: Row; libraryVersion: string | null }> {
	const times: Record<Side, number[]> = { ours: [], typescript: [] };
	let libraryVersion: string | null = null;
	for (let repetition = 0; repetition < repetitions; repetition++) {
		for (const side of SIDES) {
			const start = performance.now();
			const first = await runOnce<FirstScore>(
				"first-score-process.js",
				[side],
				() => times[side].push(performance.now() - start),
			);
			libraryVersion ??= first.libraryVersion;
			agreement.check(
				`5-step example, ${side} against the documents`,
				["example"],
				[first.score],
				[EXAMPLE_SCORE],
				EXAMPLE_TOLERANCE,
			);
			await sleep(PAUSE);
		}
	}
	const measured = row(
		"5-step example",
		"first score after start, ms",
		bySide((side) => median(times[side])),
		bySide((side) => quartiles(times[side])),
	);
	return { row: measured, libraryVersion };
}

/**
 * Scores a whole case in fresh processes of each side, and checks the scores against each other and
 * against the golden ones.
 */
export async function measureFile(
	name: string,
	plan: FilePlan,
	agreement: Agreement,
): Promise<Row[]> {
	const ids = tracesOf(name).map((trace, index) => trace.id ?? String(index));
	const golden = goldenScores(name);
	const runs: Record<Side, FileRun[]> = { ours: [], typescript: [] };
	for (let repetition = 0; repetition < plan.repetitions; repetition++) {
		const scores: Record<Side, number[]> = { ours: [], typescript: [] };
		for (const side of SIDES) {
			const args = [name, String(plan.inFlight), side];
			const run = await runOnce<FileRun>("file-process.js", args);
			runs[side].push(run);
			scores[side] = run.scores;
			await sleep(PAUSE);
			if (golden === undefined) continue;
			const recorded = ids.map((id) => golden.get(id));
			const what = `${name}, ${side} against golden, fresh processes`;
			agreement.check(what, ids, run.scores, recorded);
		}
		const what = `${name}, ours against typescript, fresh processes`;
		agreement.check(what, ids, scores.ours, scores.typescript);
	}

	const suffix = `${plan.inFlight} in flight`;
	const medianOf = (metric: string, value: (run: FileRun) => number) =>
		row(
			name,
			`${metric}, ${suffix}`,
			bySide((side) => median(runs[side].map(value))),
		);
	const memory = medianOf("peak RSS, MB", (run) => run.peakMemory);
	if (plan.inFlight === 1) return [memory];
	return [
		memory,
		medianOf("event-loop delay p99, ms", (run) => run.delay.p99),
		medianOf("event-loop delay max, ms", (run) => run.delay.max),
	];
}
