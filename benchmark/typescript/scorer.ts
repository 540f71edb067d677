import type { ReasoningTrace, ScoringWeights } from "@knowledgepulse/scoring";
import { inRange, type Profiles, profilesWith, scoreOf, UNKNOWN_NOVELTY } from "./score.js";
import { VectorCache, type VectorCacheOptions } from "./vector-cache.js";

/** Settings of a {@link Scorer}. */
export interface ScorerOptions {
	/** Gives the embedding of a text. Without it novelty is 0.5, and nothing is cached. */
	embed?: (text: string) => Promise<Float32Array>;
	/** Weights by domain, added to those of the protocol or in their place. */
	profiles?: Iterable<readonly [string, ScoringWeights]>;
	cache?: VectorCacheOptions;
}

/** Scores traces, which it does not check, each compared with those before it. */
export class Scorer {
	readonly cache: VectorCache;
	private readonly embed: ScorerOptions["embed"];
	private readonly profiles: Profiles;
	/** Settles when every call made so far has been scored. */
	private tail: Promise<unknown> = Promise.resolve();

	constructor(options: ScorerOptions = {}) {
		this.cache = new VectorCache(options.cache);
		this.embed = options.embed;
		this.profiles = profilesWith(options.profiles);
	}

	/** Scores a trace after all those of earlier calls; the result is in [0, 1]. */
	evaluateValue(trace: ReasoningTrace): Promise<number> {
		const score = this.tail.then(async () =>
			scoreOf(trace, await this.noveltyOf(trace), this.profiles),
		);
		this.tail = score.catch(() => undefined);
		return score;
	}

	/** Compares a trace with the cache and adds it. */
	private async noveltyOf(trace: ReasoningTrace): Promise<number> {
		const embedding = await this.embed?.(textOf(trace));
		if (embedding === undefined) return UNKNOWN_NOVELTY;
		const novelty =
			this.cache.size === 0
				? UNKNOWN_NOVELTY
				: inRange(1 - this.cache.maxCosineSimilarity(embedding));
		this.cache.add(embedding);
		return novelty;
	}
}

/** What the embedder reads of a trace. */
export function textOf(trace: ReasoningTrace): string {
	const contents = trace.steps.map((step) => step.content ?? "");
	return `${trace.task.objective} ${contents.join(" ")}`.toWellFormed();
}
