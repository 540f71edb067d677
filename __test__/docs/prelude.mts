/** Declares names that blocks of the documentation use without defining them. */

import { type ReasoningTrace, Scorer } from "@knowledgepulse/scoring";
import type { CalibrationRow } from "@knowledgepulse/scoring/calibrate";
import { evaluateLogs } from "@knowledgepulse/scoring/logs";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

export * from "@knowledgepulse/scoring";
export * from "@knowledgepulse/scoring/calibrate";
export * from "@knowledgepulse/scoring/logs";
export { generateText } from "ai";

export const trace: ReasoningTrace = {
	id: "kp:trace:1",
	metadata: { task_domain: "code", success: true },
	task: { objective: "Count the boats in the harbour" },
	steps: [{ type: "thought", content: "There are three." }],
	outcome: { confidence: 0.9 },
};
export const traces = [trace, { ...trace, id: "kp:trace:2" }];
export const files = ["session.jsonl"];
export const scorer = new Scorer();

export const store = new SqliteStore({ path: "novelty.db" });

export const rows: CalibrationRow[] = [];
for await (const row of evaluateLogs("runs.jsonl")) rows.push(row);

export const database = {
	search: async (_: Float32Array) => [{ similarity: 0.4, id: "kp:trace:1" }],
};
export const contribute = async (_: ReasoningTrace) => {};

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
export const model = new MockLanguageModelV3({
	doGenerate: {
		content: [{ type: "text", text: "Three boats." }],
		finishReason: { unified: "stop", raw: "stop" },
		usage: { inputTokens: tokens, outputTokens: tokens },
		warnings: [],
	},
});
export const tools = {};
export const prompt = "Count the boats in the harbour";
export const messages = [
	{ role: "user" as const, content: prompt },
	{ role: "assistant" as const, content: "Three boats." },
];
export const stopWhen = stepCountIs(3);
