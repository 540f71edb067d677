/** A fresh process that scores one trace: node first-score-process.js SIDE. */

import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { loadScorer, type Side } from "./scorers.js";

/** What the process reports. */
export interface FirstScore {
	score: number;
	/** The version of our ONNX Runtime; null for the other side. */
	libraryVersion: string | null;
}

const TRACE: ReasoningTrace = {
	id: "example:code-review",
	metadata: { task_domain: "code-review", success: true },
	task: { objective: "Review PR #42 for security issues" },
	steps: [
		{ type: "thought", content: "Analyzing diff for injection vectors" },
		{ type: "tool_call", tool: { name: "github_pr_read" } },
		{ type: "observation", content: "Found unsanitized SQL in handler.ts" },
		{ type: "tool_call", tool: { name: "static_analysis" } },
		{ type: "observation", content: "Confirmed SQL injection vulnerability" },
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
