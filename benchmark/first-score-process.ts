/** A fresh process that scores one trace: node first-score-process.js SIDE [warm]. */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { assertModel, isOurs, loadScorer, type Side } from "./sides.js";

/** What the process reports; times in milliseconds. */
export interface FirstScore {
	score: number;
	/** Around the import of the package, which for TypeScript is its own code alone. */
	importTime: number;
	/** Around the import of transformers.js; only where that is used, and when warming up. */
	libraryImportTime: number | null;
	/** Around `warmup()`; null when not asked for, or where there is none. */
	warmUpTime: number | null;
	/** Around the first score. */
	scoreTime: number;
	/** The version of our ONNX Runtime; null for the other sides. */
	libraryVersion: string | null;
}

/** As many steps, tools and types as the example of the documents, and so its score. */
const TRACE: ReasoningTrace = {
	id: "example:code-review",
	metadata: { task_domain: "code-review", success: true },
	task: { objective: "Look for holes in the change to the login form" },
	steps: [
		{ type: "thought", content: "User input goes into a query somewhere" },
		{ type: "tool_call", tool: { name: "diff_reader" } },
		{ type: "observation", content: "The name is pasted in as it comes" },
		{ type: "tool_call", tool: { name: "taint_checker" } },
		{ type: "observation", content: "A quotation mark ends the statement" },
	],
	outcome: { confidence: 0.95 },
};

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
	const start = performance.now();
	const result = await work();
	return [result, performance.now() - start];
}

async function main(): Promise<void> {
	const side = process.argv[2] as Side;
	const warm = process.argv[3] === "warm";
	const [, importTime] = await timed<unknown>(() =>
		isOurs(side) ? import("@knowledgepulse/scoring") : import("./typescript/evaluate-value.js"),
	);
	const scorer = await loadScorer(side);
	let libraryImportTime: number | null = null;
	let warmUpTime: number | null = null;
	if (warm && scorer.warmup) {
		const start = performance.now();
		if (scorer.importLibrary) {
			[, libraryImportTime] = await timed(scorer.importLibrary);
		}
		await scorer.warmup();
		warmUpTime = performance.now() - start;
	}
	const [score, scoreTime] = await timed(() => scorer.evaluateValue(TRACE));
	assertModel(scorer);
	const first: FirstScore = {
		score,
		importTime,
		libraryImportTime,
		warmUpTime,
		scoreTime,
		libraryVersion: scorer.status?.().embedder.libraryVersion ?? null,
	};
	process.send?.(first);
}

void main();
