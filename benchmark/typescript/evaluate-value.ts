/**
 * The TypeScript way of scoring: transformers.js for the embedding, plain loops for the rest.
 *
 * It is the rival in the benchmark and an independent implementation to check scores against.
 * Input is not validated, and a missing model makes scoring fail instead of setting novelty to 0.5,
 * so that a comparison cannot succeed without the model.
 */

import type {
	ReasoningTrace,
	ReasoningTraceStep,
	ScoringWeights,
} from "@knowledgepulse/scoring";
import { embed, useModel } from "./embedder.js";
import { VectorCache } from "./vector-cache.js";

export { useModel, VectorCache };

const DEFAULT_WEIGHTS = weights(0.25, 0.35, 0.15, 0.25);

// A Map, because an object would have weights for "constructor".
const DOMAIN_WEIGHTS = new Map([
	["finance", weights(0.2, 0.25, 0.1, 0.45)],
	["code", weights(0.2, 0.3, 0.3, 0.2)],
	["medical", weights(0.15, 0.2, 0.1, 0.55)],
	["customer_service", weights(0.2, 0.3, 0.2, 0.3)],
]);

const UNKNOWN_NOVELTY = 0.5;

const cache = new VectorCache();

/** Settles when every call made so far has been scored. */
let tail: Promise<unknown> = Promise.resolve();

/** Scores a trace after all those of earlier calls; the result is in [0, 1]. */
export function evaluateValue(trace: ReasoningTrace): Promise<number> {
	const score = tail.then(async () => scoreOf(trace, await noveltyOf(trace)));
	tail = score.catch(() => undefined);
	return score;
}

/** Loads the model and lets it work once, so that the first score does not have to. */
export async function warmup(): Promise<void> {
	await embed("warm up");
}

/** The score that a trace has where there is no embedder. The cache is left alone. */
export function evaluateWithoutEmbedder(trace: ReasoningTrace): number {
	return scoreOf(trace, UNKNOWN_NOVELTY);
}

/** The live cache behind {@link evaluateValue}. */
export function _getLocalCache(): VectorCache {
	return cache;
}

/** What the embedder reads of a trace. */
export function textOf(trace: ReasoningTrace): string {
	const contents = trace.steps.map((step) => step.content ?? "");
	return `${trace.task.objective} ${contents.join(" ")}`.toWellFormed();
}

/** Compares a trace with the cache and adds it. */
async function noveltyOf(trace: ReasoningTrace): Promise<number> {
	const embedding = await embed(textOf(trace));
	const novelty =
		cache.size === 0
			? UNKNOWN_NOVELTY
			: Math.min(1, Math.max(0, 1 - cache.maxCosineSimilarity(embedding)));
	cache.add(embedding);
	return novelty;
}

function scoreOf(trace: ReasoningTrace, novelty: number): number {
	const { metadata, outcome, steps } = trace;
	const types = new Set(steps.map((step) => step.type));
	const recoveries = steps.filter((step) => step.type === "error_recovery");
	const withTool = steps.filter(hasTool);
	const tools = new Set(withTool.map((step) => step.tool?.name));

	const complexity = Math.min(
		1,
		(types.size / 4) * 0.5 +
			(recoveries.length > 0 ? 0.3 : 0) +
			(steps.length / 20) * 0.2,
	);
	const toolDiversity = Math.min(
		1,
		(tools.size / Math.max(1, steps.length)) * 3,
	);
	const outcomeConfidence = outcome.confidence * (metadata.success ? 1 : 0.3);

	const w = DOMAIN_WEIGHTS.get(metadata.task_domain) ?? DEFAULT_WEIGHTS;
	let score =
		complexity * w.complexity +
		novelty * w.novelty +
		toolDiversity * w.toolDiversity +
		outcomeConfidence * w.outcomeConfidence;

	if (steps.length === 1 && steps[0]?.type === "thought") score = 0.1;
	if (recoveries.length > 2 && metadata.success) {
		score = Math.min(1, score + 0.1);
	}
	if (withTool.length > 0 && tools.size <= 1) score = Math.max(0, score - 0.1);
	return Math.min(1, Math.max(0, score));
}

function hasTool(step: ReasoningTraceStep): boolean {
	return step.tool !== undefined && step.tool !== null;
}

function weights(
	complexity: number,
	novelty: number,
	toolDiversity: number,
	outcomeConfidence: number,
): ScoringWeights {
	return { complexity, novelty, toolDiversity, outcomeConfidence };
}
