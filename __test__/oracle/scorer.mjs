/** The scorer, over any function that embeds a text. */

import { VectorCache } from "./vector-cache.mjs";

/** Scores traces without validating them. */
export class Scorer {
	#embed;
	#profiles;
	/** Settles when every call made so far has been scored. */
	#tail = Promise.resolve();

	constructor(options = {}) {
		this.cache = new VectorCache(options.cache);
		this.#embed = options.embed;
		this.#profiles = profilesWith(options.profiles);
	}

	/** Returns the score of a trace, in [0, 1], after those of all earlier calls. */
	evaluateValue(trace) {
		const score = this.#tail.then(async () =>
			scoreOf(trace, await this.#noveltyOf(trace), this.#profiles),
		);
		this.#tail = score.catch(() => undefined);
		return score;
	}

	/** Compares a trace with the cache and adds it. */
	async #noveltyOf(trace) {
		const embedding = await this.#embed?.(textOf(trace));
		if (embedding === undefined) return UNKNOWN_NOVELTY;
		const novelty =
			this.cache.size === 0
				? UNKNOWN_NOVELTY
				: inRange(1 - this.cache.maxCosineSimilarity(embedding));
		this.cache.add(embedding);
		return novelty;
	}
}

/** The text of a trace that is embedded. */
export function textOf(trace) {
	const contents = trace.steps.map((step) => step.content ?? "");
	return `${trace.task.objective} ${contents.join(" ")}`.toWellFormed();
}

/** The novelty of a trace that is compared with nothing. */
export const UNKNOWN_NOVELTY = 0.5;

/** The weights of the protocol. A Map, because an object has a member "constructor". */
const PROTOCOL = new Map([
	["default", weights(0.25, 0.35, 0.15, 0.25)],
	["finance", weights(0.2, 0.25, 0.1, 0.45)],
	["code", weights(0.2, 0.3, 0.3, 0.2)],
	["medical", weights(0.15, 0.2, 0.1, 0.55)],
	["customer_service", weights(0.2, 0.3, 0.2, 0.3)],
]);

/** Returns the weights of the protocol with others added or in their place. */
export function profilesWith(changes = []) {
	return new Map([...PROTOCOL, ...changes]);
}

/** Returns the score of a trace whose novelty is known. */
export function scoreOf(trace, novelty, profiles) {
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

	const w = profiles.get(metadata.task_domain) ?? profiles.get("default");
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
function inRange(number) {
	return Math.min(1, Math.max(0, number));
}

function hasTool(step) {
	return step.tool !== undefined && step.tool !== null;
}

function weights(complexity, novelty, toolDiversity, outcomeConfidence) {
	return { complexity, novelty, toolDiversity, outcomeConfidence };
}
