import type { decide, scoreWith, similar } from "../../index.js";
import type { DecideOptions } from "./calls.js";
import type { ConfigureOptions } from "./process.js";
import type { Scorer, ScorerOptions } from "./scorer.js";

/** The weight of each dimension: 0 or more each, 1 in total (to within 1e-9). */
export type ScoringWeights = Record<keyof ScoreDimensions, number>;

/** The value of each dimension, in [0, 1]. */
export interface ScoreDimensions {
	/** Types of steps, recovery from errors, and number of steps. */
	complexity: number;
	/** 1 minus the greatest similarity to an earlier trace; see {@link ScoreNovelty}. */
	novelty: number;
	/** Distinct tools relative to the number of steps. */
	toolDiversity: number;
	/** The agent's confidence, times 0.3 for a failed task. */
	outcomeConfidence: number;
}

/** A rule that changed the score, from `before` to `after`, both in [0, 1]. */
export interface ScoreOverride {
	name: "single-thought" | "error-recovery" | "low-tool-diversity";
	before: number;
	after: number;
}

/** How novelty was determined. Fields that do not apply are `null`. */
export interface ScoreNovelty {
	/**
	 * `"cache"`, `"store"`: compared with the traces there, if any. `"given"`: given to {@link scoreWith}.
	 * Otherwise novelty is 0.5, because the cache is empty, the embedder or the store is unavailable, or
	 * {@link ScorerOptions.budgetMs} was exceeded.
	 */
	source: "cache" | "empty-cache" | "store" | "given" | "no-embedder" | "no-store" | "over-budget";
	/** The greatest cosine similarity to an earlier trace, in [-1, 1]; novelty is 0.5 without it. */
	maxSimilarity: number | null;
	/** The `id` of that trace, if it has one. */
	nearest: string | null;
	/** The number of the trace in the store, from 1; with `remember: false` that of the entry before it. */
	seq: number | null;
	/** Why there was no embedder or no store. */
	reason: string | null;
}

/** A score with its parts. */
export interface ScoreReport {
	/** In [0, 1]. */
	score: number;
	dimensions: ScoreDimensions;
	weights: ScoringWeights;
	/** The domain whose weights were used, or `"default"`. */
	profile: string;
	/**
	 * A note if the domain resembles one with other weights, or the nearest trace has the same `id`; else `null`.
	 */
	hint: string | null;
	/** In order of application. */
	overrides: ScoreOverride[];
	novelty: ScoreNovelty;
	/** The text as embedded; `null` without an embedding. */
	text: {
		/** As in {@link ConfigureOptions.novelty}. The other fields are about what the model has seen. */
		novelty: "text" | "run" | "words";
		/** The name of the built-in model, or of a custom model's folder; `"words"` without a model. */
		modelName: string;
		/** Tokens, special ones included; of the built-in model 2 to 512, 0 without a model. */
		tokens: number;
		/** Whether text was left out. */
		isCut: boolean;
		/** Whether it came from the memo of recent embeddings. */
		fromMemo: boolean;
		/** The share of tokens, in [0, 1], that are unknown to the model's vocabulary. */
		unknownTokens: number;
	} | null;
	/** Durations in milliseconds. */
	timesMs: {
		/** From the call to the answer. */
		total: number;
		/** Until a thread was free. */
		queue: number;
		tokenize: number;
		/** In the model, and for the sketch. */
		infer: number;
		/** Until earlier calls had settled and the store had answered. */
		turn: number;
		/** Comparing with the cache. */
		cache: number;
	};
	error?: undefined;
}

/** The result of {@link decide}. */
export interface Decision {
	/** Whether the score is at least the threshold. */
	accepted: boolean;
	/** In [0, 1]; `null` if the bounds rejected the trace, unless {@link DecideOptions.exact} is set. */
	score: number | null;
	/** The lowest and the highest score that the trace can have, for any novelty. */
	bounds: [least: number, greatest: number];
	/** `null` without a score. */
	novelty: ScoreNovelty | null;
	/** A note if the bounds are below the threshold, or that of the {@link ScoreReport}; else `null`. */
	hint: string | null;
}

/** A trace that {@link Scorer.select} keeps. */
export interface SelectedTrace {
	/** Its index among the given traces. */
	index: number;
	/** `null` for a trace without one. */
	id: string | null;
	/** The share of what all traces would cover that the traces up to this one cover, in [0, 1]. */
	coverage: number;
	/** How many traces it covers best, the first selected of equals; adds up `metadata.stands_for`. */
	standsFor: number;
	/** The sum of the cubes of its similarities to these. */
	covers: number;
	/** These without itself, the most similar first, with cosine similarities in [0, 1]. */
	members: { index: number; similarity: number }[];
	/** Traces that `coverage` is measured over: all, or about 10,000 of more than 20,000. */
	measuredOver: number;
	/** The report with the novelty against the traces that were kept before it. */
	report: ScoreReport;
}

/** A trace that {@link similar} has found. */
export interface SimilarTrace {
	/** `null` for a trace without one. */
	id: string | null;
	/** The cosine similarity, in [-1, 1]. */
	similarity: number;
	/**
	 * When it was added, by the clock of the store or of this machine. Time in a snapshot does not count.
	 */
	addedAt: Date;
}
