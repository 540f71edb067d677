import type {
	FromMessagesOptions,
	Provenance,
	ReasoningTrace,
	ScoreReport,
	Scorer,
} from "@knowledgepulse/scoring";
import type {
	Attributes,
	Context,
	HrTime,
	Span,
	SpanContext,
	SpanStatus,
} from "@opentelemetry/api";

/**
 * A run of an agent and its score.
 * @example
 * ```ts
 * import type { ScoredRun } from "@knowledgepulse/scoring-otel";
 * const isValuable = ({ report }: ScoredRun) => report.score > 0.6;
 * ```
 */
export interface ScoredRun {
	trace: ReasoningTrace;
	/** Where the values of the trace come from; its `source` is named by the trace id of the spans. */
	provenance: Provenance;
	report: ScoreReport;
	/**
	 * The span that was evaluated: that of the agent; without one, the only span of generative AI that
	 * has none above it; if there are several such spans, the local root.
	 */
	spanContext: SpanContext;
}

/**
 * What went wrong, and with which span. `error` is an `ImportError` of `@knowledgepulse/scoring` for
 * spans that give no trace, such as one with the code `"SUCCESS_UNKNOWN"`; otherwise what the scorer
 * or a callback has thrown.
 * @example
 * ```ts
 * import type { RunFailure } from "@knowledgepulse/scoring-otel";
 * const report = ({ error, spanContext }: RunFailure) => console.error(spanContext.traceId, error);
 * ```
 */
export interface RunFailure {
	error: unknown;
	/** The evaluated span, or the local root of spans that give no trace. */
	spanContext: SpanContext;
}

/**
 * Emits log records: the part of a `LoggerProvider` that is used.
 * @example
 * ```ts
 * import type { EventLoggerProvider } from "@knowledgepulse/scoring-otel";
 * const silent: EventLoggerProvider = { getLogger: () => ({ emit() {} }) };
 * ```
 */
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

/**
 * Options of a {@link ScoringSpanProcessor}. Those of `importTraces` apply to all runs alike.
 * @example
 * ```ts
 * import type { ScoringSpanProcessorOptions } from "@knowledgepulse/scoring-otel";
 * const options: ScoringSpanProcessorOptions = { assumeSuccess: true, domain: "code" };
 * ```
 */
export interface ScoringSpanProcessorOptions extends Omit<FromMessagesOptions, "signal"> {
	/** What scores the traces. Default: the functions of `@knowledgepulse/scoring`, with their cache. */
	scorer?: Pick<Scorer, "explainValue">;
	/** Called with each run when it is scored. A promise that it returns is waited for by `forceFlush`. */
	onScore?: (run: ScoredRun) => unknown;
	/** Called with each run that could not be scored. Default: warns through OpenTelemetry's `diag`. */
	onError?: (failure: RunFailure) => unknown;
	/**
	 * The `gen_ai.evaluation.score.label` of a score. Default: `"high"` above 0.6, `"low"` below 0.4, else
	 * `"medium"`.
	 */
	label?: (report: ScoreReport) => string;
	/** What emits the events of evaluations. Default: the global one of the Logs API. */
	loggerProvider?: EventLoggerProvider;
	/**
	 * How many local roots may be open at once, and how many may wait for their scores; 1 or more.
	 * Beyond it, the one without a new span for the longest time is dropped. Default: `1000`.
	 */
	maxTraces?: number;
	/** How many spans may be below one local root, itself included, 1 or more. Others are dropped. Default: `1000`. */
	maxSpans?: number;
	/**
	 * How long spans are waited for that are open when their local root ends, in milliseconds, 0 or more.
	 * Default: `10000`.
	 */
	waitMs?: number;
}

/**
 * The part of an ended span that is read; the `ReadableSpan` of the SDKs is one.
 * @example
 * ```ts
 * import type { EndedSpan } from "@knowledgepulse/scoring-otel";
 * const idOf = (span: EndedSpan) => span.spanContext().spanId;
 * ```
 */
export interface EndedSpan {
	readonly name: string;
	readonly parentSpanContext?: SpanContext;
	readonly startTime: HrTime;
	readonly status: SpanStatus;
	readonly attributes: Attributes;
	readonly events: readonly {
		readonly name: string;
		readonly attributes?: Attributes;
	}[];
	readonly spanContext: () => SpanContext;
}

/**
 * A `SpanProcessor` that scores the runs of agents. It keeps the spans below each local root, a span without
 * a parent in this process, until that has ended; then it imports and scores the runs in them off the
 * event loop, and emits a `gen_ai.evaluation.result` event in the context of each evaluated span.
 *
 * Whatever is thrown meanwhile goes to `onError`. Dropped spans are counted, and reported through
 * OpenTelemetry's `diag`.
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
	/** Resolves when all runs whose local root has ended are scored. */
	forceFlush(): Promise<void>;
	/** Does so for the last time: runs that are not over are dropped. May be called again. */
	shutdown(): Promise<void>;
}
