/** Scores the runs of agents from the spans that OpenTelemetry records of them. */
const scoring = require("@knowledgepulse/scoring");
const { importTraces } = require("@knowledgepulse/scoring/logs");
const { ROOT_CONTEXT, TraceFlags, context, diag, trace } = require("@opentelemetry/api");
const { Collector, Drops } = require("./lib/collector.js");
const { emitter, levelOf } = require("./lib/evaluation.js");
const { readOptions } = require("./lib/options.js");
const { keptSpan, subjectOf } = require("./lib/spans.js");
const { name: NAME } = require("./package.json");

const isSampled = ({ traceFlags }) => (traceFlags & TraceFlags.SAMPLED) !== 0;

/** The spans as lines of JSON, which the engine reads one at a time. */
async function* lines(spans) {
	for (const { line } of spans) yield line;
}

/** The scorers of a trace, by the context of its root, which all processors of a tracer provider get. */
const scorersOf = new WeakMap();

exports.ScoringSpanProcessor = class ScoringSpanProcessor {
	#scorer;
	#onScore;
	#onError;
	#emit;
	#importing;
	#collector;
	#drops = new Drops();
	#maxTraces;
	/** Imports traces one after another, so that they are scored in the order in which they ended. */
	#imports = Promise.resolve();
	/** Traces that are being imported or scored. These promises never reject. */
	#pending = new Set();
	#closing;

	constructor(options = {}) {
		const { scorer, onScore, onError, label, loggerProvider, ...others } = readOptions(options);
		const {
			maxTraces = 1000,
			maxSpans = 1000,
			maxBytes = 2 ** 28,
			waitMs = 10_000,
			...importing
		} = others;
		this.#scorer = scorer ?? scoring;
		this.#onScore = onScore;
		this.#onError = onError ?? (({ error }) => diag.warn(`${NAME}: ${error}`));
		this.#emit = emitter(loggerProvider, label ?? levelOf);
		this.#importing = { ...importing, format: "otel", errors: "collect" };
		// Throws for invalid values.
		importTraces([], this.#importing);
		this.#maxTraces = maxTraces;
		const limits = { maxTraces, maxSpans, maxBytes, waitMs };
		this.#collector = new Collector(limits, this.#drops, (root, spans) => this.#take(root, spans));
	}

	onStart(span, parentContext) {
		const spanContext = span.spanContext();
		if (this.#closing || !isSampled(spanContext)) return;
		this.#collector.start(spanContext, trace.getSpanContext(parentContext));
	}

	onEnd(span) {
		if (this.#closing || !isSampled(span.spanContext())) return;
		this.#collector.end(keptSpan(span));
	}

	async forceFlush() {
		this.#collector.flush();
		this.#drops.report();
		await Promise.all(this.#pending);
	}

	shutdown() {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close() {
		this.#collector.close();
		await this.forceFlush();
	}

	/** Takes the spans of a local trace that has ended. Returns a promise if they are being scored. */
	#take(root, spans) {
		if (this.#pending.size >= this.#maxTraces) {
			const reason = `spans of traces, because ${this.#maxTraces} were being scored`;
			return this.#drops.add(reason, spans.length);
		}
		const scorers = scorersOf.get(root) ?? new Set();
		if (scorers.has(this.#scorer))
			return this.#drops.add("spans of traces that another processor scores", spans.length);
		scorersOf.set(root, scorers.add(this.#scorer));
		// Spans of callbacks must not belong to traces of the application.
		return context.with(ROOT_CONTEXT, () => {
			this.#imports = this.#imports.then(() => this.#import(root, spans));
			const scored = this.#imports.then((scores) => Promise.all(scores));
			const pending = scored.then(() => this.#pending.delete(pending));
			this.#pending.add(pending);
			return pending;
		});
	}

	/** Returns promises of the scores of the traces in spans. */
	async #import(root, spans) {
		const source = { name: root.traceId, data: lines(spans) };
		const scores = [];
		try {
			const traces = importTraces(source, this.#importing);
			for await (const { error, ...imported } of traces) {
				// Spans may be of anything.
				if (error?.code === "NO_TRACE") continue;
				if (error) scores.push(this.#fail(error, root));
				else {
					const { key } = imported.provenance;
					const spanId = subjectOf(spans, key) ?? root.spanId;
					scores.push(this.#score(imported, { ...root, spanId }));
				}
			}
			if (scores.length === 0)
				diag.debug(`${NAME}: no trace`, JSON.stringify(traces.report.inputs));
		} catch (error) {
			scores.push(this.#fail(error, root));
		}
		return scores;
	}

	async #score({ trace, provenance }, spanContext) {
		await this.#attempt(spanContext, async () => {
			const report = await this.#scorer.explainValue(trace);
			await this.#attempt(spanContext, () => this.#emit(report, spanContext));
			await this.#onScore?.({ trace, provenance, report, spanContext });
		});
	}

	async #attempt(spanContext, run) {
		try {
			await run();
		} catch (error) {
			await this.#fail(error, spanContext);
		}
	}

	async #fail(error, spanContext) {
		try {
			await this.#onError({ error, spanContext });
		} catch (thrown) {
			diag.error(`${NAME}: onError failed: ${thrown}`);
		}
	}
};
