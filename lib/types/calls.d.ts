import type { decide, evaluateValues, explainValues, similar } from "../../index.js";
import type { ScoringError } from "./errors.js";
import type { ConfigureOptions } from "./process.js";
import type { Scorer } from "./scorer.js";
import type { ReasoningTrace } from "./trace.js";

/** Options of a call. A value that is not an object is ignored, as in `traces.map(evaluateValue)`. */
export interface CallOptions {
	/**
	 * Cancels the call: it rejects with the signal's reason and leaves the cache unchanged. A `save` that is
	 * already writing completes.
	 */
	signal?: AbortSignal | undefined;
}

/** Options of a call that scores. */
export interface ScoreOptions extends CallOptions {
	/** Whether the trace is added to the cache. Default: `true`. */
	remember?: boolean | undefined;
	/**
	 * `"again"`: a trace whose id is in the memory, after the calls before, is compared only with what was added before
	 * it, and not added again. `"score"` (default): it is treated like any other, and so compared with itself.
	 */
	known?: "score" | "again" | undefined;
}

/** Options of {@link decide}. */
export interface DecideOptions extends CallOptions {
	/** The lowest accepted score, in [0, 1]. Default: {@link ConfigureOptions.threshold}. */
	threshold?: number | undefined;
	/**
	 * Which traces to add to the cache: accepted, all, or none. Default: `"accepted"`. With `"all"` every
	 * trace is scored.
	 */
	remember?: "accepted" | "all" | false | undefined;
	/** As {@link ScoreOptions.known}. */
	known?: "score" | "again" | undefined;
	/** Whether to always compute the score. Default: `false`. */
	exact?: boolean | undefined;
}

/** Options of {@link Scorer.select}. Without `count` and `coverage` it goes on until no trace adds anything. */
export interface SelectOptions extends CallOptions {
	/** The maximum number of traces, an integer from 1. Default: until none adds anything. */
	count?: number | undefined;
	/**
	 * The {@link SelectedTrace.coverage} at which to end, in (0, 1]; 0.5 usually has every task. Default: none.
	 */
	coverage?: number | undefined;
	/** Traces that were kept before: they cover others and are not selected. Default: none. */
	against?: Traces | undefined;
	/**
	 * Whether the traces in the cache or store were kept before as well. The scorer needs the option
	 * {@link ConfigureOptions.novelty}, so that its vectors are of one kind. Default: `false`.
	 */
	againstCache?: boolean | undefined;
	/** The maximum number of traces of a group, an integer from 1; needs `group`. Default: all. */
	perGroup?: number | undefined;
	/**
	 * A JSON pointer (RFC 6901) into a trace, to the string, number or boolean that is its group, or a
	 * function that returns it. A trace without one is in no group. Default: none.
	 */
	group?:
		| string
		| ((trace: ReasoningTrace, index: number) => string | null | undefined)
		| undefined;
	/** Called after each trace that is embedded, then about ten times a second. */
	onProgress?: ((progress: SelectProgress) => void) | undefined;
}

/** How far {@link Scorer.select} is. */
export interface SelectProgress {
	/** Embedding traces, comparing each with all, or choosing. */
	stage: "embed" | "compare" | "choose";
	/** Traces embedded, compared or chosen. */
	done: number;
	/** How many there are, or may be chosen at most. While they are embedded, only known for arrays. */
	total: number | undefined;
}

/** Options of {@link Scorer.snapshot}. */
export interface SnapshotOptions extends CallOptions {
	/** Whether to keep ages. `false`: equal entries give equal bytes; a store is read anew. Default: `true`. */
	ages?: boolean | undefined;
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
