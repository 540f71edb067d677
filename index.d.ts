import type { CallOptions, DecideOptions, ScoreOptions } from "./lib/types/calls.js";
import type { InvalidTraceError } from "./lib/types/errors.js";
import type { ConfigureOptions, ScoringStatus } from "./lib/types/process.js";
import type { Decision, ScoreNovelty, ScoreReport } from "./lib/types/report.js";
import type { Scorer, ScorerOptions } from "./lib/types/scorer.js";
import type { ReasoningTrace } from "./lib/types/trace.js";
import type { VectorCache } from "./lib/types/vector-cache.js";

export type * from "./lib/types/calls.js";
export { InvalidTraceError, ScoringError, type ScoringErrorCode } from "./lib/types/errors.js";
export type * from "./lib/types/process.js";
export type * from "./lib/types/report.js";
export * from "./lib/types/scorer.js";
export type * from "./lib/types/store.js";
export type * from "./lib/types/trace.js";
export * from "./lib/types/vector-cache.js";

/**
 * Returns the score of a trace, in [0, 1], and adds the trace to the cache, unless `remember` is `false`.
 *
 * Novelty compares with earlier traces of this thread. Calls may run concurrently; they settle in call
 * order, with the same scores as sequential calls.
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
 * Returns a report on the score of a trace; otherwise like {@link evaluateValue}.
 * @example
 * ```ts
 * import { explainValue, type ReasoningTrace } from "@knowledgepulse/scoring";
 * const explain = (trace: ReasoningTrace) => explainValue(trace);
 * ```
 */
export function explainValue(trace: ReasoningTrace): Promise<ScoreReport>;
export function explainValue(trace: ReasoningTrace, options: ScoreOptions): Promise<ScoreReport>;

/**
 * Returns the scores of many traces, in order. At most 64 calls are in flight.
 * @throws Rejects as {@link evaluateValue} for the first trace that fails, or with what the iterable
 * throws. Later traces that have not settled are not added to the cache.
 * @example
 * ```ts
 * import { evaluateValues } from "@knowledgepulse/scoring";
 * const scores = await evaluateValues([], { errors: "collect" });
 * ```
 */
export const evaluateValues: Scorer["evaluateValues"];

/**
 * Returns the reports of many traces, in order, as they become ready; otherwise like {@link evaluateValues}.
 * Leaving the loop aborts the calls in flight.
 * @example
 * ```ts
 * import { explainValues, type ReasoningTrace } from "@knowledgepulse/scoring";
 * const traces: ReasoningTrace[] = [];
 * for await (const { score, novelty } of explainValues(traces)) console.log(score, novelty.nearest);
 * ```
 */
export const explainValues: Scorer["explainValues"];

/**
 * Decides whether the score of a trace is at least the threshold. By default, accepted traces are added to the
 * cache and rejected ones are not.
 *
 * If the score is below the threshold for any novelty, the trace is rejected at once, without the model.
 * Otherwise it is scored. Decisions equal those of sequential calls of {@link explainValue} with
 * `remember: false`, each followed by {@link remember} if the trace is accepted.
 * @throws Rejects as {@link evaluateValue}.
 * @example
 * ```ts
 * import { decide, type ReasoningTrace } from "@knowledgepulse/scoring";
 * const isGood = async (trace: ReasoningTrace) => (await decide(trace, { threshold: 0.6 })).accepted;
 * ```
 */
export function decide(trace: ReasoningTrace, options?: DecideOptions): Promise<Decision>;

/**
 * Returns the traces in the cache that are most similar to a trace or a text, the most similar first, of
 * equals the oldest. The search is exact: novelty is measured against the first. Adds nothing. Traces are compared
 * as wholes, so that a few words of one find it less often than a search for keywords.
 * @throws Rejects as {@link remember}, and with `"STORE_UNAVAILABLE"` if there is a store that cannot be
 * reached.
 * @example
 * ```ts
 * import { similar } from "@knowledgepulse/scoring";
 * for (const { id, similarity } of await similar("Fix a flaky test", { k: 3 })) console.log(id, similarity);
 * ```
 */
export const similar: Scorer["similar"];

/**
 * Adds a trace to the cache without scoring it, in call order.
 * @throws Rejects as {@link evaluateValue}, and with `"EMBEDDER_UNAVAILABLE"` if there is no embedder.
 * @example
 * ```ts
 * import { type ReasoningTrace, remember } from "@knowledgepulse/scoring";
 * const rememberAll = (traces: ReasoningTrace[]) => traces.map(remember);
 * ```
 */
export function remember(trace: ReasoningTrace): Promise<void>;
export function remember(trace: ReasoningTrace, options: CallOptions): Promise<void>;

/**
 * Returns the embedding of a trace, or of a text as an objective: a vector of length 1, with 384 numbers for
 * the built-in model; see {@link ConfigureOptions.novelty}.
 * @throws Rejects as {@link remember}.
 * @example
 * ```ts
 * import { embed } from "@knowledgepulse/scoring";
 * const vector = await embed("Fix the flaky test");
 * ```
 */
export const embed: Scorer["embed"];

/**
 * Returns the report for a trace whose greatest similarity to earlier traces is known. The
 * report's times are 0.
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
	novelty: Pick<ScoreNovelty, "maxSimilarity"> & {
		[Key in keyof ScoreNovelty]?: ScoreNovelty[Key] | undefined;
	},
	options?: Pick<ScorerOptions, "profiles">,
): ScoreReport;

/**
 * Removes the traces with this `id` from the cache, in call order. Resolves to the number removed.
 * @throws Rejects with `"INVALID_OPTION"` if `id` is not a string, or with `"CLOSED"` or `"NO_THREADS"`.
 * @example
 * ```ts
 * import { forget } from "@knowledgepulse/scoring";
 * const removed = await forget("kp:trace:1");
 * ```
 */
export function forget(id: string): Promise<number>;

/**
 * Removes all traces from the cache, in call order.
 * @throws Rejects with `"CLOSED"` or `"NO_THREADS"`.
 * @example
 * ```ts
 * import { clear } from "@knowledgepulse/scoring";
 * await clear();
 * ```
 */
export function clear(): Promise<void>;

/**
 * Returns the live cache behind {@link evaluateValue} in this thread, for tests, as in the SDK.
 * @example
 * ```ts
 * import { _getLocalCache } from "@knowledgepulse/scoring";
 * _getLocalCache().clear();
 * ```
 */
export function _getLocalCache(): VectorCache;

/**
 * Loads the model and runs it once, in call order, and reads a store, so that the first score need not
 * wait. Returns the status, with `embedder.state` `"ready"` or `"unavailable"`.
 * @throws Rejects as {@link evaluateValue}.
 * @example
 * ```ts
 * import { warmup } from "@knowledgepulse/scoring";
 * const { embedder } = await warmup();
 * ```
 */
export function warmup(options?: CallOptions): Promise<ScoringStatus>;

/**
 * Changes settings for all threads of the process, for later calls. The first trace for another model empties
 * the cache of the default scorer.
 * @throws `"INVALID_OPTION"`, without changing anything.
 * @example
 * ```ts
 * import { configure } from "@knowledgepulse/scoring";
 * configure({ embedder: "required" });
 * ```
 */
export function configure(options: ConfigureOptions): void;

/**
 * Returns the state of the default scorer. Never waits, and loads nothing.
 * @throws `"INVALID_OPTION"` if an environment variable has an invalid value.
 * @example
 * ```ts
 * import { status } from "@knowledgepulse/scoring";
 * const { latencyMs } = status();
 * ```
 */
export function status(): ScoringStatus;
