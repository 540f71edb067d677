/** A fresh process that scores one trace: node first-score-process.mjs SIDE [warm]. */

import { assertModel, isOurs, loadScorer } from "./sides.mjs";

/** Has as many steps, tools and types as the example in the protocol's documents, and thus its score. */
const TRACE = {
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

async function timed(work) {
	const start = performance.now();
	const result = await work();
	return [result, performance.now() - start];
}

async function main() {
	const side = process.argv[2];
	const warm = process.argv[3] === "warm";
	const [, importTime] = await timed(() =>
		isOurs(side)
			? import("@knowledgepulse/scoring")
			: import("../__test__/oracle/evaluate-value.mjs"),
	);
	const scorer = await loadScorer(side);
	let libraryImportTime = null;
	let warmUpTime = null;
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
	const first = {
		score,
		importTime,
		libraryImportTime,
		warmUpTime,
		scoreTime,
		libraryVersion: scorer.status?.().embedder.libraryVersion ?? null,
	};
	process.send({ result: first });
}

void main();
