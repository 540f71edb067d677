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
	 * - `"no-embedder"`: the model could not be used, novelty is 0.5, `reason` says why.
	 */
	source: "cache" | "empty-cache" | "no-embedder";
	/** The greatest cosine similarity to an earlier trace, in [-1, 1]; `null` unless `"cache"`. */
	maxSimilarity: number | null;
	/** Why there was no embedder; `null` unless `"no-embedder"`. */
	reason: string | null;
}

/** A score with the account of how it came about. */
export interface ScoreReport {
	/** The score, in [0, 1]: what `evaluateValue` gives. */
	score: number;
	dimensions: ScoreDimensions;
	weights: ScoringWeights;
	/** The domain whose weights were used. */
	profile: "default" | "finance" | "code" | "medical" | "customer_service";
	/** The rules that fired, in order. */
	overrides: ScoreOverride[];
	novelty: ScoreNovelty;
}

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
 * of a single thought, is there at once; the trace enters the cache in its turn.
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

/**
 * Scores a trace as {@link evaluateValue} does, and accounts for the score.
 *
 * @param trace The trace. It enters the cache like any other.
 */
export function explainValue(trace: ReasoningTrace): Promise<ScoreReport>;

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
	/** Calls of this thread whose promises are not settled yet. */
	pending: number;
	/** Vectors in the cache behind {@link evaluateValue} in this thread. */
	cacheSize: number;
}

/**
 * Tells how things stand. Loads nothing and never waits.
 *
 * @throws `code: "INVALID_OPTION"` while the environment variable `KNOWLEDGEPULSE_SCORING_EMBEDDER`
 * names no mode, `KNOWLEDGEPULSE_SCORING_RUNTIME` no runtime, or `KNOWLEDGEPULSE_SCORING_PRECISION` no
 * precision.
 */
export function status(): ScoringStatus;
