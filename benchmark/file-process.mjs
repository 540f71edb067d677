/** A fresh process that scores a file from its first trace to its last: node file-process.mjs SIDE NAME IN_FLIGHT. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileOf } from "./cases.mjs";
import { scoreMany } from "./score-many.mjs";
import { assertModel, loadScorer } from "./sides.mjs";

async function main() {
	const [side, name, inFlight] = process.argv.slice(2);
	const traces = fileOf(name);
	const scorer = await loadScorer(side);
	// Loading the model is a matter of the first score, which is measured elsewhere.
	const first = await scoreMany(scorer, traces.slice(0, 1), 1);
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	histogram.enable();
	const rest = await scoreMany(scorer, traces.slice(1), Number(inFlight));
	histogram.disable();
	assertModel(scorer);
	const run = {
		scores: [...first.scores, ...rest.scores],
		delay: { p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6 },
		peakMemory: (process.resourceUsage().maxRSS * 1024) / 1e6,
	};
	process.send?.(run);
}

void main();
