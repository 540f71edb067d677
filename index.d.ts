/** What an agent did in one step. Any other string is accepted and counts as a further type. */
export type StepType = "thought" | "tool_call" | "observation" | "error_recovery";

/** One step of a trace. Only `type`, `content` and `tool` are read. */
export interface ReasoningTraceStep {
	step_id?: number;
	type: StepType | (string & {});
	/** Default: `""`. */
	content?: string | null;
	/** All tools without a name count as one. */
	tool?: { name?: string } | null;
	input?: unknown;
}

/**
 * An agent's run, as in the KnowledgePulse protocol; the SDK's traces are assignable. Only `id` and
 * required fields are read.
 */
export interface ReasoningTrace {
	"@context"?: string;
	"@type"?: string;
	/** For reports and {@link forget}. Ignored beyond 1,024 bytes of UTF-8. */
	id?: string;
	metadata: {
		/** Selects the weights by exact match, or the default ones. */
		task_domain: string;
		success: boolean;
		created_at?: string;
		quality_score?: number;
		visibility?: string;
		privacy_level?: string;
		/** Of an imported trace: the {@link LogFormat}. */
		framework?: string;
	};
	task: { objective: string };
	/** May be empty. */
	steps: readonly ReasoningTraceStep[];
	outcome: {
		/** In [0, 1]. */
		confidence: number;
		result_summary?: string;
	};
}

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
	/** The agent's confidence; 0.3 of it for a failed task. */
	outcomeConfidence: number;
}

/** A rule that changed the score, from `before` to `after`, both in [0, 1]. */
export interface ScoreOverride {
	name: "single-thought" | "error-recovery" | "low-tool-diversity";
	before: number;
	after: number;
}

/** Where a novelty comes from. What does not apply is `null`. */
export interface ScoreNovelty {
	/**
	 * `"cache"`: compared with earlier traces. `"store"`: compared with those in
	 * {@link ScorerOptions.store}, of which there may be none. `"given"`: found by the caller of
	 * {@link scoreWith}. Otherwise novelty is 0.5: there are no earlier traces, there is no
	 * {@link ConfigureOptions.embedder}, the store cannot be used, or {@link ScorerOptions.budgetMs}
	 * was exceeded.
	 */
	source: "cache" | "empty-cache" | "store" | "given" | "no-embedder" | "no-store" | "over-budget";
	/** The greatest cosine similarity to an earlier trace, in [-1, 1]; novelty is 0.5 without it. */
	maxSimilarity: number | null;
	/** The `id` of that trace, if it has one. */
	nearest: string | null;
	/** The place of the trace in the store, 1 or more; with `remember: false` that of the entry before it. */
	seq: number | null;
	/** Why there was no embedder or no store. */
	reason: string | null;
}

/** A score and how it came about. */
export interface ScoreReport {
	/** In [0, 1]. */
	score: number;
	dimensions: ScoreDimensions;
	weights: ScoringWeights;
	/** The domain whose weights were used, or `"default"`. */
	profile: string;
	/** In order of application. */
	overrides: ScoreOverride[];
	novelty: ScoreNovelty;
	/** What the model saw of the text; `null` without an embedding. */
	text: {
		/** The name of the model; for one of your own, the name of its folder. */
		modelName: string;
		/** Tokens, special ones included; of the built-in model 2 to 512 for each window. */
		tokens: number;
		/** 1 or more; see {@link ScorerOptions.longText}. */
		windows: number;
		/** Whether text was left out. */
		isCut: boolean;
		/** Whether it came from the memo of recent embeddings. */
		fromMemo: boolean;
		/** The share of tokens, in [0, 1], that the model's vocabulary has only as unknown. */
		unknownTokens: number;
	} | null;
	/** Durations in milliseconds. */
	timesMs: {
		/** From the call to the answer. */
		total: number;
		/** Until a thread was free. */
		queue: number;
		tokenize: number;
		infer: number;
		/** Until the calls made before were settled, and the store has answered. */
		turn: number;
		/** Comparing with the cache. */
		cache: number;
	};
	error?: undefined;
}

/** Options of a call. A value that is not an object is ignored, as in `traces.map(evaluateValue)`. */
export interface CallOptions {
	/**
	 * Cancels the call: it rejects with the signal's reason and leaves the cache, or the file of
	 * `save`, unchanged. A file that is being written is completed.
	 */
	signal?: AbortSignal | undefined;
}

/** Options of a call that scores. */
export interface ScoreOptions extends CallOptions {
	/** Whether the trace is added to the cache. Default: `true`. */
	remember?: boolean | undefined;
}

/** Options of {@link evaluateValues} and {@link explainValues}. */
export interface BatchOptions extends ScoreOptions {
	/** `"reject"` (default): the first error rejects. `"collect"`: `{ error }` takes its place among the results. */
	errors?: "reject" | "collect" | undefined;
	/** Called after each trace, in order. `total` is only known for an array. */
	onProgress?: ((progress: { done: number; total: number | undefined }) => void) | undefined;
}

/** With `errors: "collect"`, why a trace could not be scored. */
export interface ScoreFailure {
	/** A {@link ScoringError}, or what a getter of the trace has thrown. */
	error: Error;
	score?: undefined;
}

export type Traces = Iterable<ReasoningTrace> | AsyncIterable<ReasoningTrace>;

/**
 * What is wrong, by {@link ScoringError.code}. Those of an {@link ImportError} are about a source of
 * {@link importTraces}.
 */
export type ScoringErrorCode =
	| ImportErrorCode
	/** A vector has a wrong length, or a number that is not finite as float32. */
	| "INVALID_VECTOR"
	/** A snapshot is damaged, or was made with another model or `longText`. */
	| "INVALID_SNAPSHOT"
	/** A snapshot cannot be written. */
	| "SNAPSHOT_IO"
	/** The embedder is needed, but is off or cannot be used. */
	| "EMBEDDER_UNAVAILABLE"
	/** The store is needed, but cannot be reached or takes too long. */
	| "STORE_UNAVAILABLE"
	/** The store has another model, other bounds or another schema. */
	| "STORE_MISMATCH"
	/** The store returned what a store cannot contain. */
	| "INVALID_STORE"
	/** The scorer, or the worker it belongs to, was closed. */
	| "CLOSED"
	/** A row given to {@link calibrate} has a wrong field. */
	| "INVALID_ROW"
	/** There are no rows to calibrate with, or only cold start. */
	| "NO_ROWS"
	/** The options of {@link calibrate} need labels, and the rows have none. */
	| "NO_LABELS"
	/** The system gives no thread, for instance because of a limit. */
	| "NO_THREADS"
	/** Thrown on import if the addon is missing or cannot be loaded. */
	| "ADDON_NOT_FOUND"
	/** A bug in this package. */
	| "INTERNAL";

type ImportErrorCode =
	/** A field of a trace has a wrong type or value; without a source an {@link InvalidTraceError}. */
	| "INVALID_TRACE"
	/** An argument, option or environment variable is unknown or has a wrong value. */
	| "INVALID_OPTION"
	/** A line or a document is not JSON. */
	| "INVALID_JSON"
	| "INVALID_UTF8"
	/** Nothing in the source is of a known format. */
	| "UNKNOWN_FORMAT"
	/** Most records of the source, or all calls of a run, are of no known format. */
	| "UNKNOWN_RECORDS"
	/** The log does not say whether a run succeeded, and `assumeSuccess` is not given. */
	| "SUCCESS_UNKNOWN"
	/**
	 * A line, a document or the text of a run exceeds 256 MiB, or a trace has more than 1,048,576 values and
	 * names in its tool inputs.
	 */
	| "TOO_LARGE"
	/** With `errors: "collect"`, a file or stream has failed; `cause` is its error. */
	| "UNREADABLE"
	/** The messages given to {@link fromMessages} give no trace. */
	| "NO_TRACE";

/**
 * The class of all errors of this package. What getters of a trace throw, and the reason of an
 * aborted signal, are passed on as they are.
 * @example
 * ```ts
 * import { ScoringError } from "@knowledgepulse/scoring";
 * const codeOf = (error: unknown) => error instanceof ScoringError && error.code;
 * ```
 */
export class ScoringError extends Error {
	constructor(
		message: string,
		options?: { code?: ScoringErrorCode; path?: string; cause?: unknown },
	);
	code: ScoringErrorCode;
	/** The field, option or file, if the error is about one. */
	path?: string;
}

/**
 * The error for an invalid trace.
 * @example
 * ```ts
 * import { InvalidTraceError } from "@knowledgepulse/scoring";
 * const isInvalid = (error: unknown) => error instanceof InvalidTraceError;
 * ```
 */
export class InvalidTraceError extends ScoringError {
	code: "INVALID_TRACE";
	/** The field, such as `steps[3].tool.name`. */
	path: string;
}

/**
 * The error for a source of {@link importTraces}, and the line in which it is.
 * @example
 * ```ts
 * import { ImportError } from "@knowledgepulse/scoring";
 * const placeOf = (error: unknown) => error instanceof ImportError && [error.source, error.line];
 * ```
 */
export class ImportError extends ScoringError {
	constructor(
		message: string,
		options?: {
			code?: ScoringErrorCode;
			path?: string;
			cause?: unknown;
			source?: string;
			line?: number;
		},
	);
	/** The name of the source; see {@link ImportSource}. */
	source: string;
	/** The line, from 1, if the error is about one. */
	line?: number;
}

/**
 * Returns the score of a trace, in [0, 1], and adds the trace to the cache, unless `remember` is `false`.
 *
 * Novelty is measured against the traces scored before in this thread. Calls may run concurrently. They
 * settle in call order, with the same scores as sequential calls.
 * @param trace Read before the function returns.
 * @throws Rejects with an {@link InvalidTraceError}, with `"INVALID_OPTION"`, or, if the embedder is
 * `"required"`, with `"EMBEDDER_UNAVAILABLE"`. A call that rejects leaves the cache unchanged.
 * @example
 * ```ts
 * import { evaluateValue } from "@knowledgepulse/scoring";
 * const score = await evaluateValue({
 *   metadata: { task_domain: "code", success: true },
 *   task: { objective: "Fix the flaky test" },
 *   steps: [{ type: "thought" }, { type: "tool_call", tool: { name: "editor" } }],
 *   outcome: { confidence: 0.9 },
 * });
 * ```
 */
export function evaluateValue(trace: ReasoningTrace): Promise<number>;
export function evaluateValue(trace: ReasoningTrace, options: ScoreOptions): Promise<number>;

/**
 * Returns the score of a trace and how it came about. Otherwise as {@link evaluateValue}.
 * @example
 * ```ts
 * import { explainValue, type ReasoningTrace } from "@knowledgepulse/scoring";
 * const explain = (trace: ReasoningTrace) => explainValue(trace);
 * ```
 */
export function explainValue(trace: ReasoningTrace): Promise<ScoreReport>;
export function explainValue(trace: ReasoningTrace, options: ScoreOptions): Promise<ScoreReport>;

/**
 * Returns the scores of many traces, in order. At most 64 calls are in flight; an iterable is read as
 * they settle.
 * @throws Rejects as {@link evaluateValue} for the first trace that fails, or with what the iterable
 * throws. Traces after it leave the cache unchanged unless they were settled before.
 * @example
 * ```ts
 * import { evaluateValues } from "@knowledgepulse/scoring";
 * const scores = await evaluateValues([], { errors: "collect" });
 * ```
 */
export function evaluateValues(
	traces: Traces,
	options?: BatchOptions & { errors?: "reject" | undefined },
): Promise<number[]>;
export function evaluateValues(
	traces: Traces,
	options: BatchOptions,
): Promise<(number | ScoreFailure)[]>;

/**
 * Returns the reports of many traces, in order, as they are ready. Otherwise as {@link evaluateValues}. Traces
 * are read while the next report is awaited; leaving the loop aborts what is in flight.
 * @throws `"INVALID_OPTION"`. The iteration rejects as {@link evaluateValues}.
 * @example
 * ```ts
 * import { explainValues, type ReasoningTrace } from "@knowledgepulse/scoring";
 * const traces: ReasoningTrace[] = [];
 * for await (const { score, novelty } of explainValues(traces)) console.log(score, novelty.nearest);
 * ```
 */
export function explainValues(
	traces: Traces,
	options?: BatchOptions & { errors?: "reject" | undefined },
): AsyncIterableIterator<ScoreReport>;
export function explainValues(
	traces: Traces,
	options: BatchOptions,
): AsyncIterableIterator<ScoreReport | ScoreFailure>;

/**
 * Adds a trace to the cache without scoring it, in its turn among the calls.
 * @throws Rejects as {@link evaluateValue}, and with `"EMBEDDER_UNAVAILABLE"` whenever there is no
 * embedder.
 * @example
 * ```ts
 * import { type ReasoningTrace, remember } from "@knowledgepulse/scoring";
 * const rememberAll = (traces: ReasoningTrace[]) => traces.map(remember);
 * ```
 */
export function remember(trace: ReasoningTrace): Promise<void>;
export function remember(trace: ReasoningTrace, options: CallOptions): Promise<void>;

/**
 * Returns the embedding of a trace or a text, in its turn among the calls: a vector of length 1, of 384
 * numbers from the built-in model. {@link ScorerOptions.longText} says which part of a long text counts.
 * @throws Rejects as {@link remember}.
 * @example
 * ```ts
 * import { embed } from "@knowledgepulse/scoring";
 * const vector = await embed("Fix the flaky test");
 * ```
 */
export function embed(
	traceOrText: ReasoningTrace | string,
	options?: CallOptions,
): Promise<Float32Array>;

/**
 * Returns the report for a trace whose greatest similarity to earlier ones is known. It depends on
 * nothing else, and changes nothing; its times are 0.
 * @param novelty `maxSimilarity` in [-1, 1], or `null` if there are no earlier traces.
 * @throws `"INVALID_TRACE"` or `"INVALID_OPTION"`.
 * @example
 * ```ts
 * import { type ReasoningTrace, scoreWith } from "@knowledgepulse/scoring";
 * const score = (trace: ReasoningTrace) => scoreWith(trace, { maxSimilarity: 0.4 }).score;
 * ```
 */
export function scoreWith(
	trace: ReasoningTrace,
	novelty: Pick<ScoreNovelty, "maxSimilarity"> & Partial<ScoreNovelty>,
	options?: Pick<ScorerOptions, "profiles">,
): ScoreReport;

/**
 * Removes the traces with this `id` from the cache, after the calls before and ahead of those behind. Resolves to how many.
 * @throws Rejects with `"INVALID_OPTION"` if `id` is not a string, or with `"CLOSED"` or `"NO_THREADS"`.
 * @example
 * ```ts
 * import { forget } from "@knowledgepulse/scoring";
 * const removed = await forget("kp:trace:1");
 * ```
 */
export function forget(id: string): Promise<number>;

/**
 * Removes all traces from the cache, after the calls before and ahead of those behind.
 * @throws Rejects with `"CLOSED"` or `"NO_THREADS"`.
 * @example
 * ```ts
 * import { clear } from "@knowledgepulse/scoring";
 * await clear();
 * ```
 */
export function clear(): Promise<void>;

/** Options of a {@link Scorer}. Those of the embedder default to the settings of the process. */
export interface ScorerOptions extends ConfigureOptions {
	/** Weights by domain, added to the protocol's or replacing them; `default` is for all others. */
	profiles?: Record<string, ScoringWeights> | undefined;
	cache?: Omit<VectorCacheOptions, "dimensions"> | undefined;
	/**
	 * A store that takes the place of the cache and is shared with other scorers, in any process, of the same
	 * model and the same bounds of `cache`. Default: none. A call that is aborted, or exceeds
	 * `budgetMs`, after it was sent remains in the store.
	 */
	store?: NoveltyStore | undefined;
	/**
	 * Whether scores need the store. Default: `"auto"`.
	 *
	 * - `"auto"`: if it is unavailable, novelty is 0.5, and one process warning is emitted.
	 * - `"required"`: if it is unavailable, calls reject.
	 */
	storeMode?: "auto" | "required" | undefined;
	/**
	 * How long the store may take for a round trip, in milliseconds, 1 to 60,000. Default: `5000`. It is
	 * asked three times, and then not again for a second.
	 */
	storeTimeoutMs?: number | undefined;
	/**
	 * The number of texts embedded at once, 1 to the number of cores (default). Scorers with another
	 * number load a model of their own. Scores do not depend on it.
	 */
	threads?: number | undefined;
	/**
	 * The longest time that a score may take, in milliseconds from the call, 0 or more. After it the
	 * call is cancelled: it resolves with source `"over-budget"` and leaves the cache unchanged. Applies
	 * to calls that score only. Default: no limit, since scores that depend on time cannot
	 * be reproduced.
	 */
	budgetMs?: number | undefined;
	/**
	 * Which part of a text of more than 512 tokens is embedded; another model has another window. Default:
	 * `"window"`.
	 *
	 * - `"window"`: the first 512 tokens, as in the SDK.
	 * - `"whole"`: all of it, as the normalised mean of windows of 512 tokens without overlap, weighted
	 *   by tokens. Each takes as long as a text of 512.
	 */
	longText?: "window" | "whole" | undefined;
}

/** Options of a scorer from a snapshot. */
export interface RestoreOptions
	extends Omit<ScorerOptions, "store" | "storeMode" | "storeTimeoutMs">,
		CallOptions {}

/**
 * A scorer with its own cache and settings; its methods work like the functions of the
 * same name, which use a default scorer for each thread. Scorers with the same model settings share
 * one loaded model, across worker threads too.
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
	evaluateValue(trace: ReasoningTrace, options?: ScoreOptions): Promise<number>;
	explainValue(trace: ReasoningTrace, options?: ScoreOptions): Promise<ScoreReport>;
	evaluateValues(
		traces: Traces,
		options?: BatchOptions & { errors?: "reject" | undefined },
	): Promise<number[]>;
	evaluateValues(traces: Traces, options: BatchOptions): Promise<(number | ScoreFailure)[]>;
	explainValues(
		traces: Traces,
		options?: BatchOptions & { errors?: "reject" | undefined },
	): AsyncIterableIterator<ScoreReport>;
	explainValues(
		traces: Traces,
		options: BatchOptions,
	): AsyncIterableIterator<ScoreReport | ScoreFailure>;
	remember(trace: ReasoningTrace, options?: CallOptions): Promise<void>;
	embed(traceOrText: ReasoningTrace | string, options?: CallOptions): Promise<Float32Array>;
	/** @throws Rejects with `"STORE_UNAVAILABLE"` if there is a store that cannot be reached, or as {@link forget}. */
	forget(id: string): Promise<number>;
	/** @throws Rejects as `forget`. */
	clear(): Promise<void>;
	/**
	 * Returns the cache as bytes: vectors, ids and ages, with the model's fingerprint and a checksum.
	 * It is taken shortly after the call, and has every call answered before it.
	 * @throws Rejects with `"EMBEDDER_UNAVAILABLE"` if the model's manifest cannot be read, or with
	 * `"INVALID_OPTION"` if there is a store.
	 */
	snapshot(options?: CallOptions): Promise<Buffer>;
	/**
	 * Returns a scorer with the cache of a snapshot. Ages continue where they stopped. Only the
	 * bounds of the cache come from the snapshot, unless `cache` is given.
	 * @param snapshot Copied before the function returns.
	 * @throws Rejects with `"INVALID_SNAPSHOT"`, or as the constructor and `snapshot`.
	 */
	static restore(snapshot: Uint8Array, options?: RestoreOptions): Promise<Scorer>;
	/**
	 * Writes a snapshot to a file, which is replaced in one step.
	 * @throws Rejects with `"SNAPSHOT_IO"`, or as `snapshot`.
	 */
	save(path: string | URL, options?: CallOptions): Promise<void>;
	/**
	 * Returns a scorer with the cache of a file, as `restore`.
	 * @throws Rejects with Node.js' own error if the file cannot be read.
	 */
	static load(path: string | URL, options?: RestoreOptions): Promise<Scorer>;
	/** Returns a scorer as `load`, or one with an empty cache if there is no such file. */
	static open(path: string | URL, options?: RestoreOptions): Promise<Scorer>;
	warmup(options?: CallOptions): Promise<ScoringStatus>;
	/**
	 * Closes the scorer: unanswered and later calls reject with `"CLOSED"`, except `snapshot` and
	 * `save`. Waits until the model has stopped, a few milliseconds. The store is left open.
	 */
	close(): void;
	[Symbol.dispose](): void;
	status(): ScoringStatus;
	/**
	 * The live cache, as {@link _getLocalCache}.
	 * @throws `"INVALID_OPTION"` if there is a store.
	 */
	get cache(): VectorCache;
}

/** A change of the memory that scorers share. */
export type StoreEntry = {
	/** A UUID. An entry whose call is in the store already is not appended again. */
	call: string;
} & (
	| {
			kind: "add";
			/** That of the trace, if it has one; any string of up to 1,024 bytes of UTF-8. */
			id: string | null;
			/** As many float32, little-endian, as the model gives, 384 of the built-in one; to be stored as they are. */
			embedding: Uint8Array;
	  }
	/** Removes what was added before with this `id`, whose stored embeddings are erased. */
	| { kind: "forget"; id: string }
	/** Removes all that was added before, whose entries are deleted. */
	| { kind: "clear" }
);

/** An entry in its place in the store. */
export interface StoredEntry {
	/** Its number in the namespace, from 1, without gaps. */
	seq: number;
	/**
	 * When it was appended, in whole milliseconds since 1970 by the store's clock. Never less than that of
	 * the entry before, even if the clock was set back.
	 */
	at: number;
	kind: "add" | "forget" | "clear";
	call: string;
	id: string | null;
	/** `null` for other kinds, for an entry of the `append` that returns it, and once erased. */
	embedding: Uint8Array | null;
}

/** What a namespace was created with, and all scorers that use it must have. */
export interface StoreHeader {
	/** The fingerprint of the model. */
	model: string;
	/** See {@link VectorCacheOptions}. */
	maxElements: number;
	ttlMs: number | null;
}

/** The last entry that a scorer has applied. */
export interface StorePosition {
	epoch: string;
	seq: number;
	call: string;
}

/** Consecutive entries of a store. */
export interface StorePage {
	/** That of the namespace. If it is not the one asked with, nothing was appended. */
	header: StoreHeader;
	/** A UUID that changes with the store's past, as when a crash has undone commits. */
	epoch: string;
	/** The `seq` of the newest entry, or `0`. */
	head: number;
	/** The `seq` of the oldest entry that is kept; `1` if none was deleted. */
	first: number;
	/** Whether `entries` start with the oldest in the store, because it does not go on from `after`. */
	reset: boolean;
	entries: StoredEntry[];
}

/** What a store is asked with. */
export interface StoreOptions {
	/** A namespace that does not exist is created with it. */
	header: StoreHeader;
	/** Where to go on; `null` for the oldest entry. */
	after: StorePosition | null;
	/** The greatest number of entries in the page. */
	limit: number;
	/** When it is aborted, nobody waits for the answer any more. */
	signal: AbortSignal;
}

/**
 * An ordered list of changes, one for each namespace, that scorers share; see
 * `@knowledgepulse/scoring-stores` for those on PostgreSQL and SQLite, and for a conformance suite.
 * What its methods reject with counts as unavailable, unless it is a {@link ScoringError} with
 * `"STORE_MISMATCH"` or `"INVALID_STORE"`.
 */
export interface NoveltyStore {
	/**
	 * Appends all entries that are not in the store yet, with consecutive numbers, or none, and returns what
	 * follows `after`. Entries before `keepFrom`, a time as {@link StoredEntry.at}, may be deleted, the
	 * oldest first, when they are a minute old, but never the newest.
	 */
	append(
		entries: StoreEntry[],
		options: StoreOptions & { keepFrom: number | null },
	): Promise<StorePage>;
	/** Returns what follows `after`. */
	read(options: StoreOptions): Promise<StorePage>;
	close(): Promise<void>;
}

/** Options of a {@link VectorCache}. */
export interface VectorCacheOptions {
	/** How many vectors it holds, 1 to 2^32 - 1. Default: `1000`. */
	maxElements?: number | undefined;
	/** The length of every vector, 1 to 2^32 - 1. Default: `384`. */
	dimensions?: number | undefined;
	/** The age at which a vector expires, in milliseconds, 0 or more. Default: never. */
	ttlMs?: number | undefined;
}

/**
 * A bounded first-in, first-out store of vectors of `dimensions` numbers; others throw
 * `"INVALID_VECTOR"`.
 * @example
 * ```ts
 * import { VectorCache } from "@knowledgepulse/scoring";
 * const cache = new VectorCache({ dimensions: 3 });
 * cache.add([1, 0, 0]);
 * cache.maxCosineSimilarity([1, 1, 0]); // 0.7071…
 * ```
 */
export class VectorCache {
	/** @throws `"INVALID_OPTION"`. */
	constructor(options?: VectorCacheOptions);
	/** The number of vectors that have not expired. */
	get size(): number;
	/** Adds a copy of a vector, and removes the oldest one from a full cache. */
	add(vector: ArrayLike<number>): void;
	/** Returns the greatest cosine similarity, in [-1, 1]; 0 for an empty cache or a zero vector. */
	maxCosineSimilarity(query: ArrayLike<number>): number;
	/** Frees expired vectors, which no longer count. */
	evictExpired(): void;
	clear(): void;
}

/**
 * Returns the live cache behind {@link evaluateValue} in this thread, for tests, as in the SDK.
 * Changes take effect immediately, for calls in flight too.
 * @example
 * ```ts
 * import { _getLocalCache } from "@knowledgepulse/scoring";
 * _getLocalCache().clear();
 * ```
 */
export function _getLocalCache(): VectorCache;

/**
 * Loads the model and runs it once, so that the first score need not wait for that, in its turn
 * among the calls. Returns the status, with `embedder.state` `"ready"` or `"unavailable"`.
 * @throws Rejects as {@link evaluateValue}.
 * @example
 * ```ts
 * import { warmup } from "@knowledgepulse/scoring";
 * const { embedder } = await warmup();
 * ```
 */
export function warmup(options?: CallOptions): Promise<ScoringStatus>;

/**
 * Options of {@link configure}. One that is left out keeps its value, initially that of the
 * environment variable `KNOWLEDGEPULSE_SCORING_EMBEDDER`, `_BACKEND`, `_PRECISION`, `_MODEL`, `_POOLING`,
 * `_NORMALIZE`, `_MAX_TOKENS`, `_PREFIX`, `_OUTPUT` or `_LIBRARY`, or else the default.
 */
export interface ConfigureOptions {
	/**
	 * Whether scores use the embedder. Default: `"auto"`.
	 *
	 * - `"auto"`: if it is unavailable, novelty is 0.5, and one process warning is emitted.
	 * - `"off"`: novelty is 0.5.
	 * - `"required"`: if it is unavailable, calls reject.
	 */
	embedder?: "auto" | "off" | "required" | undefined;
	/**
	 * What runs the model. Default: `"onnx"`; on Linux with musl `"native"`.
	 *
	 * - `"onnx"`: the ONNX Runtime library; `"fast"` precision is `"native"` nevertheless.
	 * - `"native"`: the addon itself, without `library`. Scores equal those of `"onnx"` bit for bit.
	 */
	backend?: "onnx" | "native" | undefined;
	/**
	 * The precision of the model. Default: `"exact"`.
	 *
	 * - `"exact"`: float32, as the published model.
	 * - `"fast"`: 8-bit integers, in less than half the time; scores are within 0.006, and the same on
	 *   all machines.
	 */
	precision?: "exact" | "fast" | undefined;
	/**
	 * The folder of another model: `config.json`, `tokenizer.json`, `onnx/model.onnx` and so on, as Hugging
	 * Face, sentence-transformers and transformers.js lay it out, or the layout of the built-in model. With
	 * `"fast"` precision its graph is `onnx/model_quantized.onnx`. It resets the five options below. Default:
	 * the built-in model.
	 */
	model?: string | undefined;
	/**
	 * How the vectors of tokens become that of the text: their mean, or that of the first or the last token.
	 * Default: as `1_Pooling/config.json` says; required without it, unless the graph pools.
	 */
	pooling?: "mean" | "cls" | "last" | undefined;
	/**
	 * Whether {@link embed} gives vectors of length 1; similarities are the same. Default: `true`, or
	 * `false` if there is a `modules.json` without such a module.
	 */
	normalize?: boolean | undefined;
	/**
	 * The most tokens that the model sees of a text, special ones included; at most its number of
	 * positions. Default: as `sentence_bert_config.json`, `tokenizer_config.json` or `config.json` says, or 512.
	 */
	maxTokens?: number | undefined;
	/**
	 * Text added before each text, such as `"query: "`. Default: the default prompt in
	 * `config_sentence_transformers.json`, or nothing.
	 */
	prefix?: string | undefined;
	/**
	 * The output of the graph. Default: `sentence_embedding`, or else `last_hidden_state` or
	 * `token_embeddings`, pooled; these first if `pooling` is given.
	 */
	output?: string | undefined;
	/** ONNX Runtime, 1.17 or later, one for each process. Default: the library beside the addon. */
	library?: string | undefined;
}

/**
 * Changes settings for all threads of the process. Calls made before keep the earlier ones. With the first
 * trace for another model, the cache of the default scorer starts anew.
 * @throws `"INVALID_OPTION"`; nothing is changed in that case.
 * @example
 * ```ts
 * import { configure } from "@knowledgepulse/scoring";
 * configure({ embedder: "required" });
 * ```
 */
export function configure(options: ConfigureOptions): void;

/** The state of a scorer, with the {@link ScorerOptions} in effect; `mode` is `embedder`. */
export interface ScoringStatus {
	embedder: {
		mode: "auto" | "off" | "required";
		backend: "onnx" | "native";
		/** What is computed: `"exact"` where the processor is not made for `"fast"`. */
		precision: "exact" | "fast";
		/** The first score that needs the model loads it; a failure is retried after a second. */
		state: "idle" | "loading" | "ready" | "unavailable";
		/**
		 * Why it is unavailable, or why ONNX Runtime could not be loaded and the native backend runs the model;
		 * else `null`.
		 */
		reason: string | null;
		/** The folder of the model. */
		model: string;
		/** As in a {@link ScoreReport}; `null` until it is loaded. */
		modelName: string | null;
		/** The length of its vectors; `null` until it is loaded. */
		dimensions: number | null;
		/** The most tokens of a window; `null` until it is loaded. */
		maxTokens: number | null;
		/** The path of ONNX Runtime; `null` for `"native"`. */
		library: string | null;
		/** Its version; also `null` until it is loaded. */
		libraryVersion: string | null;
	};
	threads: number;
	/** `null` for no limit. */
	budgetMs: number | null;
	longText: "window" | "whole";
	/** Unanswered calls. */
	pending: number;
	/** Traces in the cache; during a search, those before it. With a store, those known of it. */
	cacheSize: number;
	/** `null` without {@link ScorerOptions.store}. */
	store: {
		mode: "auto" | "required";
		/** `"idle"` before the first call that needs it. */
		state: "idle" | "ready" | "unavailable";
		/** Why it is unavailable, or `null`. */
		reason: string | null;
		/** The {@link StorePosition} up to which the store is known; `null` before. */
		epoch: string | null;
		seq: number | null;
	} | null;
	/** Calls so far, without those that were rejected at once. */
	calls: {
		answered: number;
		failed: number;
		aborted: number;
		/** Those of `answered` that exceeded `budgetMs`. */
		overBudget: number;
	};
	/** Percentiles of the time to an answer, for the last 1,024; `null` before the first. */
	latencyMs: { p50: number; p90: number; p99: number } | null;
}

/**
 * Returns the state of the default scorer. Never waits for a load or a search, and loads nothing.
 * @throws `"INVALID_OPTION"` if an environment variable has an invalid value.
 * @example
 * ```ts
 * import { status } from "@knowledgepulse/scoring";
 * const { latencyMs } = status();
 * ```
 */
export function status(): ScoringStatus;

/** A format of agents' logs. */
export type LogFormat =
	| "claude-code"
	| "messages"
	| "otel"
	| "reasoning-trace"
	| "codex"
	| "langfuse"
	| "atif"
	| "inspect"
	| "mini-swe-agent"
	| "swe-agent"
	| "tau"
	| "pi";

/** What is in a source: text, bytes, a Node.js or web stream of either, or objects in memory. */
export type ImportData = string | Uint8Array | AsyncIterable<string | Uint8Array> | object;

/**
 * A log to import. Its format is found by its content.
 *
 * - A string is text if it begins with `{` or `[` after white space, otherwise the path of a file.
 * - A URL is one of a file.
 * - Bytes, or a stream of bytes or text, are a log.
 * - An array of objects is one conversation: the messages of the AI SDK, OpenAI, Anthropic and others.
 * - `{ name, data }` is a source with a name of your own; a string in it is always text.
 *
 * In errors, reports and provenance, a source without a name has its path as it was given, or else
 * its place: `"source"`, or `"sources[1]"` among several.
 */
export type ImportSource =
	| string
	| URL
	| Uint8Array
	| AsyncIterable<string | Uint8Array>
	| readonly object[]
	| { name: string; data: ImportData };

/** Options of {@link fromMessages}, and of {@link importTraces}. */
export interface FromMessagesOptions extends CallOptions {
	/** Whether the run succeeded, for a source that is one run; takes precedence over the log. */
	success?: boolean | undefined;
	/** What the agent was to do, for a source that is one run; takes precedence over the log. */
	objective?: string | undefined;
	/**
	 * What counts where the log does not say whether a run succeeded: success, failure, or `"skip"` to
	 * leave the run out. Default: none, such a run is the error `"SUCCESS_UNKNOWN"`.
	 */
	assumeSuccess?: boolean | "skip" | undefined;
	/**
	 * `"logprobs"`: a confidence that the log does not state is the geometric mean of the probabilities of
	 * the answers' tokens, if the log has them. Default: 0.8 after success, 0.2 after failure.
	 */
	confidence?: "logprobs" | undefined;
	/** `metadata.task_domain`. Default: that of the format, such as `"code"`, or `"general"`. */
	domain?: string | undefined;
	/**
	 * `metadata.created_at` of a run without a time: an ISO 8601 time. Default:
	 * `"1970-01-01T00:00:00.000Z"`.
	 */
	createdAt?: string | undefined;
	/** `metadata.visibility`. Default: `"network"`. */
	visibility?: "private" | "org" | "network" | undefined;
	/** `metadata.privacy_level`. Default: `"aggregated"`. */
	privacyLevel?: "aggregated" | "federated" | "private" | undefined;
}

/** Options of {@link importTraces}. */
export interface ImportOptions extends FromMessagesOptions {
	/** The only format that counts; values of others are skipped. Default: all. */
	format?: LogFormat | undefined;
	/** `"reject"` (default): the first error ends the import. `"collect"`: it takes its place in the output. */
	errors?: "reject" | "collect" | undefined;
	/** Ends the import: the next item rejects with the signal's reason, and files and streams are closed. */
	signal?: AbortSignal | undefined;
}

/** Where the values of an imported trace come from. */
export interface Provenance {
	/** The version of the rules. */
	importer: 1;
	format: LogFormat;
	/** The name of the source, and the line, from 1, at which the run begins. */
	source: { name: string; line?: number };
	/** The log's own id of the run; `null` if the trace's `id` comes from its content. */
	key: string | null;
	/**
	 * - `"human"`: the first message of the user; `"copied"`: one that was copied from another log.
	 * - `"field"`, `"name"`: a field of the log; the name of the agent or run.
	 * - `"command"`: a command that the user has given.
	 * - `"option"`: the option `objective`.
	 * - `"own"`: the log has traces, which stay as they are.
	 */
	objectiveFrom: "human" | "field" | "name" | "command" | "copied" | "option" | "own";
	/** A label in the log, how the run ended, `assumeSuccess`, or the option `success`. */
	successFrom: "label" | "status" | "assumed" | "option" | "own";
	/** A confidence in the log, the probabilities of tokens, or 0.8 and 0.2. */
	confidenceFrom: "explicit" | "logprobs" | "default" | "own";
	/** The log, the option `createdAt`, or neither. */
	createdAtFrom: "source" | "option" | "none";
	domainFrom: "option" | "format" | "default" | "own";
	/** How often what belongs to the run is not in the trace, by reason. */
	skipped: Record<string, number>;
}

/** A trace, and where it comes from. */
export interface ImportedTrace {
	trace: ReasoningTrace;
	provenance: Provenance;
}

/** With `errors: "collect"`, what could not be imported. */
export interface ImportFailure {
	error: ImportError;
}

/** What has been read so far. */
export interface ImportReport {
	/** One for each source, in order. */
	inputs: {
		name: string;
		formats: LogFormat[];
		/** The number of bytes read. */
		bytes: number;
		/** The number of traces found. */
		traces: number;
		/** How often what is in no trace was skipped, by reason. */
		skipped: Record<string, number>;
		/** The first thousand. */
		errors: { code: string; line: number | null; message: string }[];
		/** How many errors there were. */
		errorCount: number;
	}[];
}

/**
 * The traces of an import, as they are found. Nothing is read before the first is asked for, and no
 * more than is needed for the next. A loop that is left early closes files and streams.
 */
export interface TraceImport<Item = ImportedTrace | ImportFailure>
	extends AsyncIterableIterator<Item> {
	return(value?: unknown): Promise<IteratorResult<Item>>;
	/** Complete when the import has ended. It waits for what is being parsed. */
	readonly report: ImportReport;
}

/**
 * Imports the logs of agents: returns their runs as traces, one by one, off the event loop. Text is
 * kept as it is, and what is in no trace is counted. The same bytes always give the same traces.
 * @param sources A source, or an array of several, which are read in order; see {@link ImportSource}.
 * @throws `"INVALID_OPTION"` for a wrong option or source. The iteration rejects with an
 * {@link ImportError}, with the error of Node.js for a file, or with that of a stream; with
 * `errors: "collect"` all these are items. Traces before an error stand.
 * @example
 * ```ts
 * import { evaluateValue, importTraces } from "@knowledgepulse/scoring";
 * for await (const { trace } of importTraces("session.jsonl", { assumeSuccess: true }))
 *   console.log(trace.task.objective, await evaluateValue(trace));
 * ```
 */
export function importTraces(
	sources: ImportSource | readonly ImportSource[],
	options?: ImportOptions & { errors?: "reject" | undefined },
): TraceImport<ImportedTrace>;
export function importTraces(
	sources: ImportSource | readonly ImportSource[],
	options: ImportOptions,
): TraceImport;

/** Options of {@link evaluateLogs}. */
export interface EvaluateLogsOptions extends ImportOptions {
	/** Whether traces are added to the cache. Default: `true`. */
	remember?: boolean | undefined;
	/**
	 * A JSON pointer (RFC 6901) into a trace, to the string, number or boolean that is the `group` of its
	 * row. Default: none.
	 */
	group?: string | undefined;
}

/** A scored trace, as a row for statistics. */
export interface ScoreRow {
	/** The name of the source, and the line, from 1, at which the run begins. */
	source: { name: string; line: number };
	id: string | null;
	group: string | null;
	domain: string;
	/** `metadata.created_at`, `""` if the trace has none. */
	createdAt: string;
	score: number;
	dimensions: ScoreReport["dimensions"];
	/** The names of the rules that fired, in order. */
	overrides: ScoreReport["overrides"][number]["name"][];
	/** The id of the nearest earlier trace, if it has one. */
	nearest: string | null;
	/** The cosine similarity to that trace; `null` if the trace was compared with nothing. */
	similarity: number | null;
	noveltySource: ScoreReport["novelty"]["source"];
	success: boolean;
	confidence: number;
	/** Its first 120 characters. */
	objective: string;
	/** How many. */
	steps: number;
	/** The number of tokens that the model has seen; `null` without an embedding. */
	tokens: number | null;
	/** Whether the model has seen only the beginning of the text. */
	isCut: boolean;
	/** The precision of the model; `null` without an embedding. */
	precision: string | null;
	/** The fingerprint of the model; `null` without an embedding. */
	modelFingerprint: string | null;
	/** The version of this package. */
	version: string;
}

/** The rows of {@link evaluateLogs}, in the order of the traces. */
export interface LogEvaluation<Item = ScoreRow | ImportFailure>
	extends AsyncIterableIterator<Item> {
	return(value?: unknown): Promise<IteratorResult<Item>>;
	/** What has been read so far, which is ahead of the rows; complete at the end. */
	readonly report: ImportReport;
	/**
	 * The rows that have not been taken yet as lines of JSON in UTF-8, a chunk of whole lines at a time. With
	 * `errors: "collect"`, an error is the line `{"error":{code, source, line?, path?, message}}`.
	 */
	lines(): AsyncIterableIterator<Uint8Array>;
}

/**
 * Scores the traces in the logs of agents, one after another: as {@link importTraces} and
 * {@link evaluateValue} do, with the same scores, but traces do not become objects. Reads up to 1,024 traces,
 * or about 512 KiB of rows, ahead of the rows that are taken; when the iteration ends early, those that have
 * no score yet leave no mark in the cache. `budgetMs` does not count.
 * @param sources A source, or an array of several, which are read in order; see {@link ImportSource}.
 * @throws As {@link importTraces}. A trace that cannot be scored is an {@link ImportError} with the code
 * of {@link evaluateValue}, such as `"EMBEDDER_UNAVAILABLE"`. Rows before an error stand.
 * @example
 * ```ts
 * import { evaluateLogs } from "@knowledgepulse/scoring";
 * for await (const { id, score } of evaluateLogs("traces.jsonl")) console.log(id, score);
 * ```
 */
export function evaluateLogs(
	sources: ImportSource | readonly ImportSource[],
	options?: EvaluateLogsOptions & { errors?: "reject" | undefined },
): LogEvaluation<ScoreRow>;
export function evaluateLogs(
	sources: ImportSource | readonly ImportSource[],
	options: EvaluateLogsOptions,
): LogEvaluation;

/**
 * Returns the trace of one conversation in memory: messages of the AI SDK, OpenAI, Anthropic and
 * others. Whether it succeeded is not in the messages: give `success`, or `assumeSuccess`.
 * @param messages Read before the function returns.
 * @throws Rejects as {@link importTraces}, and with `"NO_TRACE"` if the messages give none.
 * @example
 * ```ts
 * import { evaluateValue, fromMessages } from "@knowledgepulse/scoring";
 * const messages = [
 *   { role: "user", content: "What is 2 + 2?" },
 *   { role: "assistant", content: "4" },
 * ];
 * const score = await evaluateValue(await fromMessages(messages, { success: true }));
 * ```
 */
export function fromMessages(
	messages: readonly object[],
	options?: FromMessagesOptions,
): Promise<ReasoningTrace>;

type ScoredFields = "domain" | "score" | "dimensions" | "noveltySource" | "success" | "confidence";

/** A scored trace for {@link calibrate}: a {@link ScoreRow}, or what is needed of one. */
export interface CalibrationRow
	extends Pick<ScoreRow, ScoredFields>,
		Partial<Omit<ScoreRow, ScoredFields>> {
	/** Whether the trace was worth sharing, by someone's judgement. */
	label?: boolean;
}

/** Options of {@link calibrate}. */
export interface CalibrateOptions {
	/**
	 * What the threshold is chosen for: the share of rows to accept, in (0, 1], or with labels the share of
	 * positive ones among the accepted, in (0, 1), by its lower confidence bound; `threshold`, in [0, 1],
	 * chooses none, and evaluates this one. Default: none is chosen.
	 */
	target?: { share: number } | { precision: number } | { threshold: number } | undefined;
	/** Whether weights are fitted to the labels. Default: `false`. */
	fit?: boolean | undefined;
	/**
	 * How many of the first rows are excluded as cold start. Default: a tenth, at most 10, where the first row
	 * was compared with nothing, else 0. Rows that were compared with nothing are excluded in any case.
	 */
	first?: number | undefined;
	/** The level of confidence of all intervals, in [0.5, 0.999]. Default: 0.95. */
	level?: number | undefined;
	/** How many bootstrap replicates are drawn, from 100 to 10,000. Default: 1,000. */
	replicates?: number | undefined;
	/** The seed of the bootstrap and the folds: the same input gives the same result. Default: 0. */
	seed?: number | undefined;
	/** The profiles that the rows were scored by, as for {@link ScorerOptions}. */
	profiles?: Record<string, ScoringWeights> | undefined;
	/** Ends the calibration, which rejects with the reason of the signal. */
	signal?: AbortSignal | undefined;
}

/** A confidence interval at the level of the options. */
export interface CalibrationInterval {
	low: number;
	high: number;
}

/**
 * A value with its interval, by a bootstrap of groups; `null` where there are fewer than two groups.
 */
export interface CalibrationEstimate {
	value: number;
	interval: CalibrationInterval | null;
}

/** The distribution of values in [0, 1]. */
export interface CalibrationDistribution {
	min: number;
	max: number;
	mean: number;
	/** The percentiles 5, 10, 25, 50, 75, 90 and 95, interpolated linearly. */
	percentiles: { percent: number; value: number }[];
	/** How many values are in each of twenty bins of 0.05; 1 belongs to the last. */
	histogram: number[];
}

/** The scores of the used rows, of all domains or of one. */
export interface CalibrationSummary {
	/** How many used rows. */
	n: number;
	excluded: number;
	/** The share of rows of which the model saw only the beginning. */
	cutShare: number;
	successShare: number;
	/** The share of positive labels; `null` without labels. */
	labelShare: number | null;
	/** The share that each threshold accepts: 0.5, 0.75, 0.8, and the chosen one. */
	accepted: { threshold: number; n: number; share: number }[];
	/** `null` without rows. */
	score: CalibrationDistribution | null;
	dimensions: {
		dimension: keyof ScoringWeights;
		distribution: CalibrationDistribution;
	}[];
	/** The dimensions that are the same in all rows. */
	constantDimensions: (keyof ScoringWeights)[];
	/** The cumulative distribution of the scores, in at most 201 points. */
	ecdf: { score: number; share: number }[];
}

/** The threshold that was chosen or given. It accepts the rows whose score is not below it. */
export interface CalibrationThreshold {
	/** `null` where none reaches the target precision. */
	value: number | null;
	/** Where the threshold for a target share varies between samples. */
	interval: CalibrationInterval | null;
	share: CalibrationEstimate;
	/** How many of the used rows it accepts. */
	accepted: number;
	/** How many accepted rows have the lowest accepted score: they come in only together. */
	tied: number;
	/** With a target share: the next smaller share that a threshold can have. */
	stricterShare: number | null;
	/** With a target share: the next larger share that a threshold can have. */
	looserShare: number | null;
	/** With labels: the share of positive ones among the accepted. */
	precision: {
		threshold: number;
		precision: number;
		interval: CalibrationInterval;
		recall: number;
		accepted: number;
		/** To how many independent rows these are worth. */
		effective: number;
	} | null;
}

/** What a threshold does to labelled rows. */
export interface CalibrationPoint {
	threshold: number;
	/** Youden's J, or F1. */
	value: number;
	precision: number;
	recall: number;
	falsePositiveRate: number;
	share: number;
}

/** What the labels say of the scores. */
export interface CalibrationLabels {
	positives: number;
	negatives: number;
	groups: number;
	/** How alike the labels of a group are, in [0, 1]. */
	intraclassCorrelation: number;
	/** How often a positive row has a higher score than a negative one; a tie counts one half. */
	auc: CalibrationEstimate;
	averagePrecision: CalibrationEstimate;
	/** In at most 201 points, from the strictest threshold; `null` accepts none. */
	roc: {
		threshold: number | null;
		falsePositiveRate: number;
		truePositiveRate: number;
	}[];
	/** The interval of the true-positive rate at false-positive rates. */
	rocBand: ({ at: number } & CalibrationInterval)[];
	/** In at most 201 points, from the strictest threshold; `null` accepts none. */
	precisionRecall: {
		threshold: number | null;
		precision: number;
		recall: number;
	}[];
	/** The interval of the precision at recalls. */
	precisionRecallBand: ({ at: number } & CalibrationInterval)[];
	/** The label rate by decile of the score. A score is no probability. */
	deciles: {
		from: number;
		to: number;
		n: number;
		positives: number;
		rate: number;
		effective: number;
		/** Wilson's. */
		interval: CalibrationInterval;
	}[];
	youden: CalibrationPoint;
	bestF1: CalibrationPoint;
	/** Whether the labels say anything but `success`, which the score contains. */
	leakage: {
		/** The share of rows whose label is `success`. */
		agreement: number;
		agreementByChance: number;
		/** Whether `agreement` is 0.95 or more. */
		isLeak: boolean;
		/** With a leak: the AUC of scores without what contains `success`. */
		aucWithoutOutcome: CalibrationEstimate | null;
	};
}

/**
 * Weights fitted to the labels of the rows that one profile serves. An AUC is that of pairs within five
 * folds, none of which divides a group.
 */
export interface CalibrationFit {
	/** The domain that it is for, or the profile that it replaces where that serves several. */
	profile: string;
	domains: string[];
	n: number;
	positives: number;
	negatives: number;
	groups: number;
	/** Where the fit starts. */
	current: ScoringWeights;
	/** Whether `outcomeConfidence` was left out, because the labels are `success`. */
	withoutOutcome: boolean;
	result:
		| {
				outcome: "better" | "no-better-than-current";
				/** The nearest to the current ones within one standard error of the best. */
				weights: ScoringWeights;
				best: ScoringWeights;
				currentAuc: number;
				/** On the rows that the weights were chosen by: too high, as `bestAuc` is. */
				auc: number;
				bestAuc: number;
				standardError: number;
				/** On folds that the weights were not chosen by: what to expect of new rows. */
				heldOutAuc: CalibrationEstimate;
				/** Of `heldOutAuc` over the current weights. "better": its interval is above 0. */
				improvement: CalibrationEstimate;
				tried: number;
		  }
		| { outcome: "refused"; expected: string; found: string };
	/** The weights to use for the profile; `null` unless they are better. */
	recommended: ScoringWeights | null;
}

/** What {@link calibrate} has found. Shares and rates are in [0, 1], and rows count from 1. */
export interface Calibration {
	/** What was asked. */
	options: Omit<Required<CalibrateOptions>, "target" | "first" | "profiles"> & {
		target: NonNullable<CalibrateOptions["target"]> | null;
		first: number | null;
	};
	rows: {
		total: number;
		/** All but the cold start. */
		used: number;
		/** Excluded: compared with nothing. */
		uncompared: number;
		/** Excluded: among the first rows. */
		first: number;
		firstLimit: number;
		groups: number;
		ungrouped: number;
		labelled: number;
	};
	/** What the rows were scored with. */
	sources: { modelFingerprints: string[]; precisions: string[]; versions: string[] };
	/** `null` without a target. */
	threshold: CalibrationThreshold | null;
	overall: CalibrationSummary;
	/** The largest first. */
	domains: {
		domain: string;
		profile: string;
		weights: ScoringWeights;
		summary: CalibrationSummary;
	}[];
	/** All rows in the order of scoring, in blocks. */
	timeline: {
		first: number;
		last: number;
		scoreP10: number;
		scoreP50: number;
		scoreP90: number;
		noveltyP50: number;
	}[];
	/** The numbers of at most ten rows each. */
	examples: { highest: number[]; lowest: number[]; borderline: number[] };
	/** `null` without labels, or where all are alike. */
	labels: CalibrationLabels | null;
	/** Empty unless `fit` was asked for. */
	fits: CalibrationFit[];
	/** What makes the figures doubtful; `code` is such as `"label-is-success"` or `"few-groups"`. */
	warnings: { code: string; n: number; message: string }[];
}

/**
 * Describes the scores of rows, which are in the order of scoring, chooses a threshold, and fits weights
 * to labels, as far as the options ask for it. Works off the event loop, and needs no model.
 * @param rows At least one that was compared with an earlier trace. Those of the same `group` (task,
 * session) depend on each other: intervals come from a bootstrap that draws whole groups.
 * @throws Rejects with `"INVALID_ROW"`, `"INVALID_OPTION"`, `"NO_ROWS"` where none is left, or `"NO_LABELS"`
 * where a target precision or `fit` needs some.
 * @example
 * ```ts
 * import { calibrate, evaluateLogs } from "@knowledgepulse/scoring";
 * const rows = [];
 * for await (const row of evaluateLogs("traces.jsonl")) rows.push(row);
 * const { threshold } = await calibrate(rows, { target: { share: 0.2 } });
 * console.log(threshold?.value, threshold?.share);
 * ```
 */
export function calibrate(
	rows: Iterable<CalibrationRow>,
	options?: CalibrateOptions,
): Promise<Calibration>;

/**
 * Returns a calibration as one HTML document, which needs no network, no script and no other file.
 * @param calibration What {@link calibrate} has found in `rows`.
 * @param options `title`, `language` of the objectives (BCP 47; default: `"en"`), and `settings` to show.
 * @throws Rejects with `"INVALID_OPTION"` or `"INVALID_ROW"`.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { type CalibrationRow, calibrate, calibrationReport } from "@knowledgepulse/scoring";
 * const write = async (rows: CalibrationRow[]) =>
 *   writeFile("report.html", await calibrationReport(await calibrate(rows), rows));
 * ```
 */
export function calibrationReport(
	calibration: Calibration,
	rows: Iterable<CalibrationRow>,
	options?: {
		title?: string;
		language?: string;
		settings?: Record<string, string>;
	},
): Promise<string>;
