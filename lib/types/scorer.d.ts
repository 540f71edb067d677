import type { _getLocalCache, evaluateValues, forget } from "../../index.js";
import type {
	BatchOptions,
	CallOptions,
	DecideOptions,
	ScoreFailure,
	ScoreOptions,
	SelectOptions,
	SimilarOptions,
	SnapshotOptions,
	Traces,
} from "./calls.js";
import type {
	EvaluateLogsOptions,
	evaluateLogs,
	ImportSource,
	LogEvaluation,
	ScoreRow,
} from "./logs.js";
import type { ConfigureOptions, ScoringStatus } from "./process.js";
import type {
	Decision,
	ScoreReport,
	ScoringWeights,
	SelectedTrace,
	SimilarTrace,
} from "./report.js";
import type { NoveltyStore } from "./store.js";
import type { ReasoningTrace } from "./trace.js";
import type { VectorCache, VectorCacheOptions } from "./vector-cache.js";

/** Options of a {@link Scorer}. Those of the embedder default to the settings of the process. */
export interface ScorerOptions extends ConfigureOptions {
	/**
	 * Weights by domain, which add to the protocol's or replace them; `default` is for all other domains.
	 */
	profiles?: Record<string, ScoringWeights> | undefined;
	cache?: Omit<VectorCacheOptions, "dimensions"> | undefined;
	/**
	 * A store in place of the cache, shared with other scorers, in any process, with the same model and bounds
	 * of `cache`. A call that is aborted or exceeds `budgetMs` may leave its trace there. Default: none.
	 */
	store?: NoveltyStore | undefined;
	/**
	 * If the store is unavailable, `"auto"` (default): novelty is 0.5, and one process warning is emitted;
	 * `"required"`: calls reject.
	 */
	storeMode?: "auto" | "required" | undefined;
	/**
	 * The time limit of a store round trip, in milliseconds, 1 to 60,000. Default: `5000`. A round trip is
	 * tried three times; after that the store is not asked for a second.
	 */
	storeTimeoutMs?: number | undefined;
	/**
	 * The number of texts embedded at once, 1 to the number of cores (default). Scorers with another number
	 * load a separate model. Scores do not depend on it.
	 */
	threads?: number | undefined;
	/**
	 * The longest time that a score may take, in milliseconds from the call, 0 or more. Beyond it, the call
	 * resolves with source `"over-budget"` and leaves the cache unchanged. Applies only to calls that score.
	 * Default: no limit, because scores that depend on time cannot be reproduced.
	 */
	budgetMs?: number | undefined;
}

/** Options of a scorer from a snapshot. */
export interface RestoreOptions extends ScorerOptions, CallOptions {}

/**
 * A scorer with its own cache and settings; its methods work like the functions of the same name, which use
 * a default scorer for each thread. All threads share one loaded model for each set of model settings.
 * @example
 * ```ts
 * import { Scorer } from "@knowledgepulse/scoring";
 * const scorer = await Scorer.open("novelty.kpcache", { precision: "fast" });
 * ```
 */
export class Scorer {
	/** Scores the traces in logs; see {@link evaluateLogs}. */
	evaluateLogs(
		sources: ImportSource | readonly ImportSource[],
		options?: EvaluateLogsOptions & { errors?: "reject" | undefined },
	): LogEvaluation<ScoreRow>;
	evaluateLogs(
		sources: ImportSource | readonly ImportSource[],
		options: EvaluateLogsOptions,
	): LogEvaluation;

	/** @throws `"INVALID_OPTION"`. */
	constructor(options?: ScorerOptions);
	/** Scores a trace, in [0, 1], and adds it to the cache. */
	evaluateValue(trace: ReasoningTrace, options?: ScoreOptions): Promise<number>;
	/** Reports on the score of a trace, and adds it to the cache. */
	explainValue(trace: ReasoningTrace, options?: ScoreOptions): Promise<ScoreReport>;
	/** Returns the scores of many traces, in order. */
	evaluateValues(
		traces: Traces,
		options?: BatchOptions & { errors?: "reject" | undefined },
	): Promise<number[]>;
	evaluateValues(traces: Traces, options: BatchOptions): Promise<(number | ScoreFailure)[]>;
	/** Returns their reports, in order, as they become ready. */
	explainValues(
		traces: Traces,
		options?: BatchOptions & { errors?: "reject" | undefined },
	): AsyncIterableIterator<ScoreReport>;
	explainValues(
		traces: Traces,
		options: BatchOptions,
	): AsyncIterableIterator<ScoreReport | ScoreFailure>;
	/** Compares the score with the threshold, and adds accepted traces to the cache. */
	decide(trace: ReasoningTrace, options?: DecideOptions): Promise<Decision>;
	/**
	 * Returns the few traces that stand for all, in order of selection: facility location. A kept trace
	 * covers another by `max(0, cosine)³`, by half of that if it is known to have failed
	 * (`metadata.success` is `false`, and `metadata.success_from` not `"assumed"`). The next trace adds
	 * most to the sum, over all traces, of the cover by the kept trace that covers best; of equals the first
	 * given. To select from parts, give all kept ones again, with their `metadata.stands_for` and `covers`.
	 * Of more than 20,000 traces, the sum runs over a sample.
	 *
	 * Vectors are those of {@link ConfigureOptions.novelty} `"run"`, unless another kind was set. Traces
	 * without a vector are not selected. Does not change the cache or the store; `budgetMs` does not apply.
	 * @example
	 * ```ts
	 * import { type ReasoningTrace, Scorer } from "@knowledgepulse/scoring";
	 * async function keep(traces: AsyncIterable<ReasoningTrace>) {
	 *   const kept = await new Scorer().select(traces, { count: 20 });
	 *   for (const { id, standsFor } of kept) console.log(id, standsFor);
	 * }
	 * ```
	 * @throws Rejects as {@link evaluateValues}, or with `"STORE_UNAVAILABLE"` if `againstCache` needs a store.
	 */
	select(traces: Traces, options?: SelectOptions): Promise<SelectedTrace[]>;
	/** Returns the most similar traces in the cache, compared as scores do: no search for a few words of a run. */
	similar(traceOrText: ReasoningTrace | string, options?: SimilarOptions): Promise<SimilarTrace[]>;
	/** Adds a trace to the cache without a score. */
	remember(trace: ReasoningTrace, options?: CallOptions): Promise<void>;
	/** Returns the vector of a trace or a text. */
	embed(
		traceOrText: ReasoningTrace | string,
		options?: CallOptions,
	): Promise<ReturnType<typeof Float32Array.of>>;
	/**
	 * Removes the traces with this `id`.
	 * @throws Rejects with `"STORE_UNAVAILABLE"` if a store cannot be reached, or as {@link forget}.
	 */
	forget(id: string): Promise<number>;
	/** Removes all traces. @throws Rejects as `forget`. */
	clear(): Promise<void>;
	/**
	 * Returns the cache as bytes: vectors, ids and ages, with the model's fingerprint and a checksum; with a
	 * store, its mirror and its position.
	 * @throws Rejects with `"EMBEDDER_UNAVAILABLE"` if the model's manifest cannot be read.
	 */
	snapshot(options?: SnapshotOptions): Promise<ReturnType<typeof Buffer.alloc>>;
	/**
	 * Returns a scorer with the cache of a snapshot. Ages do not advance while a cache is a snapshot. The
	 * bounds of the cache come from the snapshot, unless `cache` is given; other options do not. With a
	 * store, only newer entries are read from it, or all if it does not continue there: see
	 * {@link ScoringStatus.store}.
	 * @param snapshot Copied before the function returns.
	 * @throws Rejects with `"INVALID_SNAPSHOT"`, or as the constructor and `snapshot`.
	 */
	static restore(snapshot: Uint8Array, options?: RestoreOptions): Promise<Scorer>;
	/**
	 * Writes a snapshot to a file, which is replaced in one step.
	 * @throws Rejects with `"SNAPSHOT_IO"`, or as `snapshot`.
	 */
	save(path: string | URL, options?: SnapshotOptions): Promise<void>;
	/**
	 * Returns a scorer with the cache of a file, as `restore`.
	 * @throws Rejects with Node.js' own error if the file cannot be opened, with `"SNAPSHOT_IO"` if reading it fails,
	 * or as `restore`.
	 */
	static load(path: string | URL, options?: RestoreOptions): Promise<Scorer>;
	/** Returns a scorer as `load`, or one with an empty cache if there is no such file. */
	static open(path: string | URL, options?: RestoreOptions): Promise<Scorer>;
	/** Loads the model and reads a store, before a score needs them. */
	warmup(options?: CallOptions): Promise<ScoringStatus>;
	/**
	 * Closes the scorer: pending and later calls reject with `"CLOSED"`, except `snapshot` and `save`. The store
	 * is left open.
	 */
	close(): void;
	[Symbol.dispose](): void;
	/** Never waits, and loads nothing. */
	status(): ScoringStatus;
	/**
	 * The live cache, as {@link _getLocalCache}.
	 * @throws `"INVALID_OPTION"` if there is a store.
	 */
	get cache(): VectorCache;
}
