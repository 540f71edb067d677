/**
 * The whole scorer once more, over transformers.js: what the engine is held against.
 *
 * Written from the description of what is computed, and sharing no code with the engine.
 */

import type { ReasoningTrace, ScoringWeights } from "@knowledgepulse/scoring";
import { faultsOf } from "./faults.js";
import { Scorer, type ScorerOptions } from "./scorer.js";

export { embed, tokenIds } from "./embedder.js";

/** What a call comes to: a score, or the places of what is wrong with the value. */
export type Outcome = { score: number } | { faults: string[] };

/** Settings of an {@link Oracle}. */
export interface OracleOptions extends Omit<ScorerOptions, "profiles"> {
	/** As the engine takes them. */
	profiles?: Readonly<Record<string, ScoringWeights>>;
}

/** Scores whatever it is given, in the order in which it is given. */
export class Oracle {
	private readonly scorer: Scorer;

	constructor({ profiles = {}, ...options }: OracleOptions = {}) {
		const named = Object.entries(profiles).map(
			([domain, weights]) => [domain.toWellFormed(), weights] as const,
		);
		this.scorer = new Scorer({ ...options, profiles: named });
	}

	/** Scores a value, or refuses it, which leaves no mark. */
	async evaluate(value: unknown): Promise<Outcome> {
		const faults = faultsOf(value);
		if (faults.length > 0) return { faults };
		const trace = wellFormed(value as ReasoningTrace);
		return { score: await this.scorer.evaluateValue(trace) };
	}

	/** How many vectors are cached. */
	get cacheSize(): number {
		return this.scorer.cache.size;
	}
}

/** What counts of a trace, each lone surrogate being U+FFFD. */
function wellFormed(trace: ReasoningTrace): ReasoningTrace {
	const { metadata, task, outcome } = trace;
	const steps = Array.from(trace.steps, ({ type, content, tool }) => ({
		type: type.toWellFormed(),
		content: content?.toWellFormed(),
		tool: tool && { name: tool.name?.toWellFormed() },
	}));
	const task_domain = metadata.task_domain.toWellFormed();
	return {
		metadata: { task_domain, success: metadata.success },
		task: { objective: task.objective.toWellFormed() },
		steps,
		outcome: { confidence: outcome.confidence },
	};
}
