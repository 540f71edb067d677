/**
 * Scores reasoning traces in [0, 1]: how much a trace is worth sharing.
 *
 * Everything runs off the event loop, on the engine's own threads, without the network.
 *
 * Importing throws an Error with `code: "ADDON_NOT_FOUND"` where the package with the addon of this
 * platform is missing or cannot be loaded; its message names the command that mends it.
 */

/** What an agent did in one step. Any other string is accepted and counts as one more type. */
export type StepType =
	| "thought"
	| "tool_call"
	| "observation"
	| "error_recovery";

/** One step of a trace. Fields that are not named here are ignored. */
export interface ReasoningTraceStep {
	/** Position in the trace. Not used for scoring. */
	step_id?: number;
	type: StepType | (string & {});
	/** The text of the step. Missing and `null` are the empty string. */
	content?: string | null;
	/** The tool that was used. Tools without a name count as one tool. */
	tool?: { name?: string } | null;
	/** What the tool was given. Not used for scoring. */
	input?: unknown;
}

/**
 * An agent's run, as the KnowledgePulse protocol describes it. Only the fields that are required
 * here are read; a trace typed with the SDK's own types is assignable.
 */
export interface ReasoningTrace {
	/** Not checked when scoring; both schema addresses in circulation are fine. */
	"@context"?: string;
	"@type"?: string;
	/** Names the trace in reports, and for `forget`. One of more than 1,024 bytes of UTF-8 is ignored. */
	id?: string;
	metadata: {
		/** Selects the weights by exact match; an unknown domain gets the default ones. */
		task_domain: string;
		/** Whether the task succeeded. */
		success: boolean;
		created_at?: string;
		quality_score?: number;
		visibility?: string;
		privacy_level?: string;
	};
	task: {
		/** What the agent was asked to do. */
		objective: string;
	};
	/** The steps in order. May be empty. */
	steps: readonly ReasoningTraceStep[];
	outcome: {
		/** The agent's confidence in its result, in [0, 1]. */
		confidence: number;
		result_summary?: string;
	};
}

/** The weight of each dimension: non-negative, 1 in sum. */
export interface ScoringWeights {
	complexity: number;
	novelty: number;
	toolDiversity: number;
	outcomeConfidence: number;
}

/** The value of each dimension, in [0, 1]. */
export interface ScoreDimensions {
	/** Kinds of step, recovery from errors, length. */
	complexity: number;
	/** Distance from everything scored before. */
	novelty: number;
	/** Different tools for the length of the trace. */
	toolDiversity: number;
	/** The agent's confidence, cut to three tenths for a failed task. */
	outcomeConfidence: number;
}

/** A rule that changed the weighted sum. */
export interface ScoreOverride {
	name: "single-thought" | "error-recovery" | "low-tool-diversity";
	/** The score before the rule, in [0, 1]. */
	before: number;
	/** The score after the rule, in [0, 1]. */
	after: number;
}

/** Where the novelty of a score comes from. */
export interface ScoreNovelty {
	/**
	 * - `"cache"`: compared with the traces scored before;
	 * - `"empty-cache"`: nothing to compare with, novelty is 0.5;
	 * - `"no-embedder"`: the model could not be used, novelty is 0.5, `reason` says why;
	 * - `"over-budget"`: the embedding was not there within `budgetMs`, novelty is 0.5.
	 */
	source: "cache" | "empty-cache" | "no-embedder" | "over-budget";
	/** The greatest cosine similarity to an earlier trace, in [-1, 1]; `null` unless `"cache"`. */
	maxSimilarity: number | null;
	/** The `id` of the trace that is so similar; `null` where it has none, or unless `"cache"`. */
	nearest: string | null;
	/** Why there was no embedder; `null` unless `"no-embedder"`. */
	reason: string | null;
}

/** A score with the account of how it came about. */
export interface ScoreReport {
	/** The score, in [0, 1]: what `evaluateValue` gives. */
	score: number;
	dimensions: ScoreDimensions;
	weights: ScoringWeights;
	/** The domain whose weights were used: one with a profile, else `"default"`. */
	profile: string;
	/** The rules that fired, in order. */
	overrides: ScoreOverride[];
	novelty: ScoreNovelty;
	/** What the model saw of the text; `null` where there was no embedding. */
	text: {
		/** Tokens used, the special ones included, 2 to 512 a window. */
		tokens: number;
		/** Windows used, 1 or more; see {@link ScorerOptions.longText}. */
		windows: number;
		/** Whether the text has more. */
		isCut: boolean;
		/** Whether the same tokens had been embedded lately. */
		isRemembered: boolean;
	} | null;
	/** Where the time went, in milliseconds. */
	times: {
		/** From the call to the answer. */
		total: number;
		/** Until a thread took the call up. */
		queue: number;
		/** For finding the tokens. */
		tokenize: number;
		/** In the model. */
		infer: number;
		/** Until the calls before were settled. */
		turn: number;
		/** In the cache. */
		cache: number;
	};
}

/** Options of a single call. Anything else than an object is ignored, as in `traces.map(evaluateValue)`. */
export interface CallOptions {
	/** Ends the call: it rejects with the signal's reason, and the trace leaves no mark in the cache. */
	signal?: AbortSignal;
}

/** Options of {@link evaluateValues}. */
export interface BatchOptions extends CallOptions {
	/**
	 * - `"reject"`, the default: the first trace that fails ends it;
	 * - `"collect"`: the error stands in the place of the score.
	 */
	errors?: "reject" | "collect";
	/** Called after each trace, in order; `total` is there for arrays. */
	onProgress?: (progress: { done: number; total: number | undefined }) => void;
}

/** What can be scored many at a time. */
export type Traces = Iterable<ReasoningTrace> | AsyncIterable<ReasoningTrace>;

/** The error that a promise rejects with when its trace cannot be scored. */
export interface InvalidTraceError extends Error {
	code: "INVALID_TRACE";
	/** The field that is wrong, such as `steps[3].tool.name`. */
	path: string;
}

/**
 * Scores a trace.
 *
 * Novelty is measured against the traces scored before it in this thread, so scores depend on the
 * order of the calls. It is the order in which they are made, however many are in flight: the
 * scores are those that one gets by awaiting each call before making the next.
 *
 * A text that was embedded lately is not embedded again. A score that cannot depend on novelty, that
 * of a single thought, is there at once, and the trace enters the cache in its turn; while 1,024
 * such traces wait for theirs, a further one is answered in its turn.
 *
 * @param trace The trace. It is read at once; later changes to it do not matter.
 * @returns The score, in [0, 1].
 * @throws Rejects with an {@link InvalidTraceError} when a field does not fit, with what a getter of
 * the trace has thrown, or with `code: "EMBEDDER_UNAVAILABLE"` when the embedder is `"required"`
 * but cannot be had, or with `code: "INVALID_OPTION"` while the environment variable
 * `KNOWLEDGEPULSE_SCORING_EMBEDDER` names no mode, `KNOWLEDGEPULSE_SCORING_RUNTIME` no runtime, or
 * `KNOWLEDGEPULSE_SCORING_PRECISION` no precision. A rejected trace leaves cache and order as they were. Never throws at once.
 */
export function evaluateValue(trace: ReasoningTrace): Promise<number>;
export function evaluateValue(
	trace: ReasoningTrace,
	options: CallOptions,
): Promise<number>;

/**
 * Scores a trace as {@link evaluateValue} does, and accounts for the score.
 *
 * @param trace The trace. It enters the cache like any other.
 */
export function explainValue(trace: ReasoningTrace): Promise<ScoreReport>;
export function explainValue(
	trace: ReasoningTrace,
	options: CallOptions,
): Promise<ScoreReport>;

/**
 * Scores many traces: the scores of one call after another, in order, with at most 64 in flight.
 *
 * @throws Rejects as {@link evaluateValue}, with the signal's reason, or with what the iterable throws;
 * traces after the one that failed leave no mark then, unless they were settled already.
 */
export function evaluateValues(
	traces: Traces,
	options?: BatchOptions & { errors?: "reject" },
): Promise<number[]>;
export function evaluateValues(
	traces: Traces,
	options: BatchOptions,
): Promise<(number | Error)[]>;

/** Scores a trace as {@link evaluateValue} would now, without adding it to the cache. */
export function peekValue(trace: ReasoningTrace): Promise<number>;
export function peekValue(
	trace: ReasoningTrace,
	options: CallOptions,
): Promise<number>;

/**
 * Adds a trace to the cache without scoring it, in its turn among the calls.
 *
 * @throws Rejects as {@link evaluateValue}, and with `code: "EMBEDDER_UNAVAILABLE"` without an embedder.
 */
export function remember(trace: ReasoningTrace): Promise<void>;
export function remember(
	trace: ReasoningTrace,
	options: CallOptions,
): Promise<void>;

/** Takes the traces with this `id` out of the cache at once; gives their number. */
export function forget(id: string): number;

/** Empties the cache at once, also of traces that were answered before their text was embedded. */
export function clear(): void;

/** Options of a {@link Scorer}. Those of the embedder default to the settings of the process. */
export interface ScorerOptions extends ConfigureOptions {
	/**
	 * Weights by domain, added to those of the protocol or in their place; `default` serves all
	 * other domains. Each 0 or more, and 1 in sum, give or take 1e-9.
	 */
	profiles?: Record<string, ScoringWeights>;
	/** Bounds of the cache; see {@link VectorCacheOptions}. Default: 1,000 traces, for ever. */
	cache?: { maxElements?: number; ttlMs?: number };
	/**
	 * Threads that embed for it, 1 to the number of cores, which is the default. Scorers with
	 * another number load a model of their own; the bits of a score do not depend on it.
	 */
	threads?: number;
	/**
	 * The longest that a score waits for its embedding, in milliseconds, 0 or more. After that it
	 * has novelty 0.5 and the source `"over-budget"`; the embedding enters the cache in its turn all
	 * the same. While 1,024 such embeddings wait, later calls are answered so at once, and leave no
	 * mark. Default: as long as it takes, because a score that depends on the clock cannot be
	 * repeated.
	 */
	budgetMs?: number;
	/**
	 * What novelty sees of a text of more than 512 tokens. Default `"window"`.
	 *
	 * - `"window"`: the first 512 tokens, as the SDK does;
	 * - `"whole"`: all of it. Each window of 512 tokens is embedded, one after the other, without
	 *   overlap, and what counts is their mean, weighted by tokens, of length 1. It takes the time of
	 *   a text of 512 tokens for each window, and keeps the text in memory until then. A shorter
	 *   text scores the same either way.
	 */
	longText?: "window" | "whole";
}

/**
 * A scorer with a cache and settings of its own. All scorers of the process, in worker threads as well,
 * share one loaded model for the same settings. The functions of the module belong to a scorer
 * with the settings of the process.
 */
export class Scorer {
	/** @throws `code: "INVALID_OPTION"` with the `path` of what does not fit. */
	constructor(options?: ScorerOptions);
	/** See {@link evaluateValue}. */
	evaluateValue(trace: ReasoningTrace, options?: CallOptions): Promise<number>;
	/** See {@link explainValue}. */
	explainValue(
		trace: ReasoningTrace,
		options?: CallOptions,
	): Promise<ScoreReport>;
	/** See {@link evaluateValues}. */
	evaluateValues(
		traces: Traces,
		options?: BatchOptions & { errors?: "reject" },
	): Promise<number[]>;
	evaluateValues(
		traces: Traces,
		options: BatchOptions,
	): Promise<(number | Error)[]>;
	/** See {@link peekValue}. */
	peekValue(trace: ReasoningTrace, options?: CallOptions): Promise<number>;
	/** See {@link remember}. */
	remember(trace: ReasoningTrace, options?: CallOptions): Promise<void>;
	/** See {@link forget}. */
	forget(id: string): number;
	/** See {@link clear}. */
	clear(): void;
	/**
	 * The cache as bytes, with ages, ids, the fingerprint of the model and a checksum.
	 *
	 * @throws `code: "EMBEDDER_UNAVAILABLE"` where the model's manifest cannot be read.
	 */
	snapshot(): Buffer;
	/**
	 * A scorer that goes on with a snapshot. Ages go on where they stopped; the bounds are those of
	 * the snapshot unless `cache` is given. No other option is in a snapshot.
	 *
	 * @throws `code: "INVALID_SNAPSHOT"` for bytes that are damaged, cut off, of another format,
	 * another model or another `longText`, and as the constructor.
	 */
	static restore(snapshot: Uint8Array, options?: ScorerOptions): Scorer;
	/**
	 * Writes a snapshot to a file. Whatever happens meanwhile, the file is the former one or the new.
	 *
	 * @throws Rejects with `code: "SNAPSHOT_IO"`.
	 */
	save(path: string): Promise<void>;
	/** {@link Scorer.restore} from a file; rejects with Node.js' own error where it cannot be read. */
	static load(path: string, options?: ScorerOptions): Promise<Scorer>;
	/** See {@link warmup}. */
	warmup(): Promise<ScoringStatus>;
	/**
	 * Ends it: calls that have no answer yet, and later ones, reject with `code: "CLOSED"`. Waits for
	 * the operation of the model that is running, a few milliseconds.
	 */
	close(): void;
	/** See {@link status}. */
	status(): ScoringStatus;
	/** The live cache, as {@link _getLocalCache} gives it for the default scorer. */
	get cache(): VectorCache;
}

/** Bounds of a {@link VectorCache}. */
export interface VectorCacheOptions {
	/** How many vectors it holds, 1 to 2^32 - 1; the oldest goes first. Default 1000. */
	maxElements?: number;
	/** The length of every vector, 1 to 2^32 - 1. Default 384. */
	dimensions?: number;
	/** The age in milliseconds at which a vector is gone, 0 or more. Default: never. */
	ttlMs?: number;
}

/** A bounded first-in-first-out store of vectors, to compare new ones with. */
export class VectorCache {
	/** @throws `code: "INVALID_OPTION"` with the `path` of an option that does not fit. */
	constructor(options?: VectorCacheOptions);
	/** How many vectors are alive. */
	get size(): number;
	/**
	 * Adds a vector, copied; the oldest goes when the cache is full.
	 *
	 * @throws `code: "INVALID_VECTOR"`: `Expected 384 dimensions, got 3`, or a number that is not
	 * finite as float32.
	 */
	add(vector: ArrayLike<number>): void;
	/**
	 * The greatest cosine similarity of `query` to a vector in the cache, in [-1, 1]; 0 when there
	 * is none, and 0 for a zero vector.
	 *
	 * @throws As {@link VectorCache.add}.
	 */
	maxCosineSimilarity(query: ArrayLike<number>): number;
	/** Drops the vectors of age `ttlMs` or more. They count for nothing before that, too. */
	evictExpired(): void;
	/** Drops all vectors. */
	clear(): void;
}

/**
 * The live cache behind {@link evaluateValue} in this thread: a hook for tests, as in the SDK.
 * What it does takes effect at once, also for calls that are still in flight. The vector of a call
 * that was answered before its text was embedded, a single thought, may still be on its way here:
 * `clear()` keeps it out, and a call that is awaited after it, `warmup()` for one, lets it arrive.
 */
export function _getLocalCache(): VectorCache;

/**
 * Loads the model, and uses it once, so that the first score does not have to wait for that. Takes
 * its turn among the calls: it resolves when those made before it are answered.
 *
 * @returns The status after it. Where the embedder cannot be had, `embedder.state` is
 * `"unavailable"` with the reason, and the process warning is emitted.
 * @throws Rejects with `code: "EMBEDDER_UNAVAILABLE"` when the embedder is `"required"` but cannot be
 * had, and with `code: "INVALID_OPTION"` as {@link evaluateValue} does.
 */
export function warmup(): Promise<ScoringStatus>;

/** Settings of the process. Whatever is left out stays as it is. */
export interface ConfigureOptions {
	/**
	 * Whether scores use the embedder. Default `"auto"`, or the environment variable
	 * `KNOWLEDGEPULSE_SCORING_EMBEDDER`.
	 *
	 * - `"auto"`: where it cannot be had, novelty is 0.5 and one process warning tells so;
	 * - `"off"`: novelty is 0.5;
	 * - `"required"`: where it cannot be had, scoring rejects.
	 */
	embedder?: "auto" | "off" | "required";
	/**
	 * What runs the model. Default `"onnxruntime"`, on Linux with musl `"rust"`, or the environment
	 * variable `KNOWLEDGEPULSE_SCORING_RUNTIME`.
	 *
	 * - `"onnxruntime"`: the ONNX Runtime library;
	 * - `"rust"`: the addon itself, without any library: `library` is not looked at. It gives the same
	 *   bits as the exact precision of the other one, in about the same time (README), and holds all
	 *   46 MB of weights in memory of its own instead of mapping the file. It has no integer
	 *   arithmetic: `precision: "fast"` is computed exactly.
	 *
	 * Another runtime loads the model again; what the cache holds stays comparable.
	 */
	runtime?: "onnxruntime" | "rust";
	/**
	 * How exactly the model computes. Default `"exact"`, or the environment variable
	 * `KNOWLEDGEPULSE_SCORING_PRECISION`.
	 *
	 * - `"exact"`: float32, the scores of the published model;
	 * - `"fast"`: integers of 8 bits in about half the time; a score is off by 0.006 at most in
	 *   what was measured (README). Traces scored with one precision are compared with those
	 *   scored with the other, too; the errors do not add up. Computed exactly where the runtime is
	 *   `"rust"`, which {@link status} tells.
	 */
	precision?: "exact" | "fast";
	/**
	 * The folder with `manifest.json` and the model files that it names. Default: `model` beside
	 * the addon, or the environment variable `KNOWLEDGEPULSE_SCORING_MODEL_DIR`.
	 */
	modelDir?: string;
	/**
	 * The ONNX Runtime library, version 1.17 or later; 1.23.2 is shipped. Default: the one beside the addon, or the
	 * environment variable `KNOWLEDGEPULSE_SCORING_LIBRARY`. A process can load only one. Not needed
	 * where the runtime is `"rust"`.
	 */
	library?: string;
}

/**
 * Changes settings for all threads of the process. Calls made before keep the settings they had.
 *
 * @throws `code: "INVALID_OPTION"` with the `path` of an option that does not fit; nothing is
 * changed then.
 */
export function configure(options: ConfigureOptions): void;

/** How things stand. */
export interface ScoringStatus {
	embedder: {
		/** See {@link ConfigureOptions.embedder}. */
		mode: "auto" | "off" | "required";
		/** See {@link ConfigureOptions.runtime}. */
		runtime: "onnxruntime" | "rust";
		/** What is computed; see {@link ConfigureOptions.precision}. */
		precision: "exact" | "fast";
		/** The model is loaded by the first score that needs it, and tried again after a failure. */
		state: "idle" | "loading" | "ready" | "unavailable";
		/** Why it is unavailable, else `null`. */
		reason: string | null;
		/** The name of the loaded model, else `null`. */
		model: string | null;
		modelDir: string;
		/** The ONNX Runtime library; `null` where the runtime is `"rust"`. */
		library: string | null;
		/** The version of the ONNX Runtime in use, `null` where none is loaded or needed. */
		libraryVersion: string | null;
	};
	/** How many texts can be embedded at once. */
	threads: number;
	/** {@link ScorerOptions.budgetMs}; `null` for none. */
	budgetMs: number | null;
	/** {@link ScorerOptions.longText}. */
	longText: "window" | "whole";
	/** Calls that have no answer yet. */
	pending: number;
	/** Vectors in the cache. */
	cacheSize: number;
	/** What became of the calls so far. */
	calls: {
		answered: number;
		failed: number;
		aborted: number;
		/** Of those answered, without their embedding. */
		overBudget: number;
	};
	/** Percentiles of the time to the answer, of the latest 1,024 calls; `null` before the first. */
	latencyMs: { p50: number; p90: number; p99: number } | null;
}

/**
 * Tells how things stand. Loads nothing and never waits.
 *
 * @throws `code: "INVALID_OPTION"` while the environment variable `KNOWLEDGEPULSE_SCORING_EMBEDDER`
 * names no mode, `KNOWLEDGEPULSE_SCORING_RUNTIME` no runtime, or `KNOWLEDGEPULSE_SCORING_PRECISION` no
 * precision.
 */
export function status(): ScoringStatus;
