/** A fresh process that scores one trace: node first-score-process.js SIDE. */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { loadScorer, type Side } from "./scorers.js";

/** What the process reports. */
export interface FirstScore {
	score: number;
	/** The version of our ONNX Runtime; null for the other side. */
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

async function main(): Promise<void> {
	const scorer = await loadScorer(process.argv[2] as Side);
	const score = await scorer.evaluateValue(TRACE);
	const libraryVersion = scorer.status?.().embedder.libraryVersion ?? null;
	const first: FirstScore = { score, libraryVersion };
	process.send?.(first);
}

void main();
