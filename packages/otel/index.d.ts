import type { ReasoningTrace, ScoreReport, Scorer } from "@knowledgepulse/scoring";
import type { FromMessagesOptions, Provenance } from "@knowledgepulse/scoring/logs";
import type {
	Attributes,
	Context,
	HrTime,
	Span,
	SpanContext,
	SpanStatus,
} from "@opentelemetry/api";

/** A run of an agent and its score. */
export interface ScoredRun {
	trace: ReasoningTrace;
	/** Where the values of the trace come from; its `source` is named by the trace id of the spans. */
	provenance: Provenance;
	report: ScoreReport;
	/**
	 * The evaluated span: the agent's; without an agent, the topmost span of generative AI, or the local root
	 * if there are several.
	 */
	spanContext: SpanContext;
}

/**
 * Why spans could not be scored. `error` is an `ImportError` of `@knowledgepulse/scoring` if they yield no
 * trace, for example `"SUCCESS_UNKNOWN"`; otherwise what the scorer or a callback threw.
 */
export interface RunFailure {
	error: unknown;
	/** The evaluated span, or the local root of spans that yield no trace. */
	spanContext: SpanContext;
}

/** Emits log records: the part of a `LoggerProvider` that is used. */
export interface EventLoggerProvider {
	getLogger(
		name: string,
		version?: string,
	): {
		emit(record: {
			eventName: string;
			severityNumber: number;
			attributes: Record<string, string | number>;
			context: Context;
		}): void;
	};
}

/** Options of a {@link ScoringSpanProcessor}. Those of `importTraces` apply to all runs alike. */
export interface ScoringSpanProcessorOptions
	extends Omit<FromMessagesOptions, "errors" | "signal"> {
	/** The scorer of the traces. Default: the functions of `@knowledgepulse/scoring`, with their cache. */
	scorer?: Pick<Scorer, "explainValue"> | undefined;
	/** Called with each run when it is scored. `forceFlush` waits for a promise that it returns. */
	onScore?: ((run: ScoredRun) => unknown) | undefined;
	/** Called with each run that could not be scored. Default: warns through OpenTelemetry's `diag`. */
	onError?: ((failure: RunFailure) => unknown) | undefined;
	/**
	 * The `gen_ai.evaluation.score.label` of a score. Default: `"high"` above 0.6, `"low"` below 0.4, else
	 * `"medium"`. Anything but a string is the error `"INVALID_OPTION"`, without an event.
	 */
	label?: ((report: ScoreReport) => string) | undefined;
	/**
	 * Emits the events of evaluations. Default: the global provider of the Logs API, registered with
	 * `@opentelemetry/api` (1.10 or later) or `@opentelemetry/api-logs`.
	 */
	loggerProvider?: EventLoggerProvider | undefined;
	/**
	 * The maximum number of open local roots, and of ended ones that wait for scores; 1 or more. Beyond it,
	 * the least recently active one is dropped. Default: `1000`.
	 */
	maxTraces?: number | undefined;
	/**
	 * The maximum number of spans of a local root, itself included; 1 or more. A trace with more is dropped.
	 * Default: `1000`.
	 */
	maxSpans?: number | undefined;
	/**
	 * The maximum size of the spans that are kept, those of complete traces that wait for scores included, in
	 * bytes of JSON; 1 or more. Beyond it, the least recently active trace is dropped; a trace that is larger
	 * by itself is dropped alone. Default: `268435456` (256 MiB).
	 */
	maxBytes?: number | undefined;
	/**
	 * How long no span of a run may begin or end before it is scored, if it has outlived its local root, in
	 * milliseconds, 0 or more. An open span whose children have ended is always waited for. Default: `10000`.
	 */
	waitMs?: number | undefined;
}

/** The part of an ended span that is read. The `ReadableSpan` of the SDKs has it. */
export interface EndedSpan {
	readonly name: string;
	readonly parentSpanContext?: SpanContext;
	/** The id of the parent, in version 1 of the SDK. */
	readonly parentSpanId?: string;
	readonly startTime: HrTime;
	readonly status: SpanStatus;
	readonly attributes: Attributes;
	readonly events: readonly {
		readonly name: string;
		readonly attributes?: Attributes;
		readonly droppedAttributesCount?: number;
	}[];
	readonly droppedAttributesCount?: number;
	readonly droppedEventsCount?: number;
	readonly spanContext: () => SpanContext;
}

/**
 * A `SpanProcessor` that scores the runs of agents. It keeps the spans below each local root, a span without
 * a parent in this process, until the root has ended (see `waitMs`). Then it imports and scores their runs off
 * the event loop, and emits a `gen_ai.evaluation.result` event in the context of each evaluated span.
 *
 * Errors go to `onError`. Dropped spans are counted, and reported through OpenTelemetry's `diag`. Of several
 * processors with the same scorer, one scores a run, and the others drop it.
 * @example
 * ```ts
 * import { ScoringSpanProcessor } from "@knowledgepulse/scoring-otel";
 * const processor = new ScoringSpanProcessor({
 *   assumeSuccess: true,
 *   onScore: ({ trace, report }) => console.log(trace.task.objective, report.score),
 * });
 * ```
 */
export class ScoringSpanProcessor {
	/** @throws `"INVALID_OPTION"` */
	constructor(options?: ScoringSpanProcessorOptions);
	onStart(span: Span, parentContext: Context): void;
	onEnd(span: EndedSpan): void;
	/** Resolves when all runs whose local root has ended are scored, without a wait for other spans. */
	forceFlush(): Promise<void>;
	/** Flushes for the last time, and drops runs that have not ended. May be called again. */
	shutdown(): Promise<void>;
}
