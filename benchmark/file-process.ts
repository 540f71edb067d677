/** A fresh process that scores a file from its first trace to its last: node file-process.js SIDE NAME IN_FLIGHT. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileOf } from "./cases.js";
import { scoreMany } from "./score-many.js";
import { assertModel, loadScorer, type Side } from "./sides.js";

/** What the process reports. */
export interface FileRun {
	scores: number[];
	/** Event-loop delay in milliseconds after the first score, the timer's own 1 ms included. */
	delay: { p99: number; max: number };
	/** Largest resident set of the process so far, in megabytes. */
	peakMemory: number;
}

async function main(): Promise<void> {
	const [side, name, inFlight] = process.argv.slice(2);
	const traces = fileOf(name as string);
	const scorer = await loadScorer(side as Side);
	// Loading the model is a matter of the first score, which is measured elsewhere.
	const first = await scoreMany(scorer, traces.slice(0, 1), 1);
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	histogram.enable();
	const rest = await scoreMany(scorer, traces.slice(1), Number(inFlight));
	histogram.disable();
	assertModel(scorer);
	const run: FileRun = {
		scores: [...first.scores, ...rest.scores],
		delay: { p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6 },
		peakMemory: (process.resourceUsage().maxRSS * 1024) / 1e6,
	};
	process.send?.(run);
}

void main();
