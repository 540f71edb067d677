/** Prints the scores that the TypeScript way gives the example traces, in order: examples/scores.json. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { evaluateValue } from "./typescript/evaluate-value.js";

const EXAMPLES = join(__dirname, "../../examples/traces.mjs");

async function main(): Promise<void> {
	const { traces }: { traces: ReasoningTrace[] } = await import(pathToFileURL(EXAMPLES).href);
	const scores: number[] = [];
	for (const trace of traces) scores.push(await evaluateValue(trace));
	console.log(JSON.stringify(scores, null, "\t"));
}

void main();
