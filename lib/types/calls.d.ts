import type { decide, evaluateValues, explainValues, similar } from "../../index.js";
import type { ScoringError } from "./errors.js";
import type { ConfigureOptions } from "./process.js";
import type { Scorer } from "./scorer.js";
import type { ReasoningTrace } from "./trace.js";

/** Options of a call. A value that is not an object is ignored, as in `traces.map(evaluateValue)`. */
export interface CallOptions {
	/**
	 * Cancels the call: it rejects with the signal's reason and leaves the cache unchanged. `save` leaves the
	 * file unchanged, unless it is already writing: then it completes.
	 */
	signal?: AbortSignal | undefined;
}

/** Options of a call that scores. */
export interface ScoreOptions extends CallOptions {
	/** Whether the trace is added to the cache. Default: `true`. */
	remember?: boolean | undefined;
	/**
	 * `"again"`: a trace whose id is in the memory is compared only with what was added before it, as when it was new,
	 * and not added again. `"score"` (default): it is treated like any other, and so compared with itself.
	 */
	known?: "score" | "again" | undefined;
}

/** Options of {@link decide}. */
export interface DecideOptions extends CallOptions {
	/** The lowest accepted score, in [0, 1]. Default: {@link ConfigureOptions.threshold}. */
	threshold?: number | undefined;
	/**
	 * Which traces to add to the cache: accepted, all, or none. Default: `"accepted"`. With `"all"` every
	 * text is embedded.
	 */
	remember?: "accepted" | "all" | false | undefined;
	/** As {@link ScoreOptions.known}. */
	known?: "score" | "again" | undefined;
	/** Whether to always compute the score. Default: `false`. */
	exact?: boolean | undefined;
}

/** Options of {@link Scorer.select}. */
export interface SelectOptions extends CallOptions {
	/** The maximum number of traces, an integer from 1. Default: all. */
	count?: number | undefined;
	/** The lowest score of a selected trace, in [0, 1]. Default: `0`. */
	threshold?: number | undefined;
}

/** Options of {@link similar}. */
export interface SimilarOptions extends CallOptions {
	/** The maximum number of results, an integer from 1. Default: `10`. */
	k?: number | undefined;
	/** The minimum similarity, in [-1, 1]. Default: `-1`. */
	atLeast?: number | undefined;
}

/** Options of {@link evaluateValues} and {@link explainValues}. */
export interface BatchOptions extends ScoreOptions {
	/**
	 * `"reject"` (default): the first error rejects. `"collect"`: errors are results `{ error }`, in order.
	 */
	errors?: "reject" | "collect" | undefined;
	/** Called after each trace, in order. `total` is only known for an array. */
	onProgress?: ((progress: { done: number; total: number | undefined }) => void) | undefined;
}

/** With `errors: "collect"`, why a trace could not be scored. */
export interface ScoreFailure {
	/** A {@link ScoringError}, or an exception from a getter of the trace. */
	error: Error;
	score?: undefined;
}

export type Traces = Iterable<ReasoningTrace> | AsyncIterable<ReasoningTrace>;
