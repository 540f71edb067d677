/** The score of a trace whose novelty is known. */

import type { ReasoningTrace, ReasoningTraceStep, ScoringWeights } from "@knowledgepulse/scoring";

/** The novelty of a trace that is compared with nothing. */
export const UNKNOWN_NOVELTY = 0.5;

/** Weights by domain; there always are some for `default`. */
export type Profiles = ReadonlyMap<string, ScoringWeights>;

/** Those of the protocol. A Map, because an object would have weights for "constructor". */
const PROTOCOL: Profiles = new Map([
	["default", weights(0.25, 0.35, 0.15, 0.25)],
	["finance", weights(0.2, 0.25, 0.1, 0.45)],
	["code", weights(0.2, 0.3, 0.3, 0.2)],
	["medical", weights(0.15, 0.2, 0.1, 0.55)],
	["customer_service", weights(0.2, 0.3, 0.2, 0.3)],
]);

/** The weights of the protocol with others added or in their place. */
export function profilesWith(changes: Iterable<readonly [string, ScoringWeights]> = []): Profiles {
	return new Map([...PROTOCOL, ...changes]);
}

/** The score in [0, 1]. */
export function scoreOf(trace: ReasoningTrace, novelty: number, profiles: Profiles): number {
	const { metadata, outcome, steps } = trace;
	const types = new Set(steps.map((step) => step.type));
	const recoveries = steps.filter((step) => step.type === "error_recovery");
	const withTool = steps.filter(hasTool);
	const tools = new Set(withTool.map((step) => step.tool?.name));

	const complexity = Math.min(
		1,
		(types.size / 4) * 0.5 + (recoveries.length > 0 ? 0.3 : 0) + (steps.length / 20) * 0.2,
	);
	const toolDiversity = Math.min(1, (tools.size / Math.max(1, steps.length)) * 3);
	const outcomeConfidence = outcome.confidence * (metadata.success ? 1 : 0.3);

	const w = (profiles.get(metadata.task_domain) ?? profiles.get("default")) as ScoringWeights;
	// Weights may sum to a little more than 1; an override starts from a score in [0, 1].
	let score = inRange(
		complexity * w.complexity +
			novelty * w.novelty +
			toolDiversity * w.toolDiversity +
			outcomeConfidence * w.outcomeConfidence,
	);

	if (steps.length === 1 && steps[0]?.type === "thought") score = 0.1;
	if (recoveries.length > 2 && metadata.success) score = inRange(score + 0.1);
	if (withTool.length > 0 && tools.size <= 1) score = inRange(score - 0.1);
	return score;
}

/** A number cut to [0, 1]. */
export function inRange(number: number): number {
	return Math.min(1, Math.max(0, number));
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
