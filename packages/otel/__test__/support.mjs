/** Tracers whose spans are scored, and the results. */
import assert from "node:assert/strict";
import { Scorer } from "@knowledgepulse/scoring";
import { ScoringSpanProcessor } from "@knowledgepulse/scoring-otel";
import { context, DiagLogLevel, diag, trace } from "@opentelemetry/api";
import {
	InMemoryLogRecordExporter,
	LoggerProvider,
	SimpleLogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import {
	InMemorySpanExporter,
	NodeTracerProvider,
	SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";

// Only for its context manager.
new NodeTracerProvider().register();

/** The messages of `diag`, by level. */
export const diagnostics = { error: [], warn: [], info: [], debug: [], verbose: [] };

const logger = Object.entries(diagnostics).map(([level, messages]) => [
	level,
	(...args) => messages.push(args.join(" ")),
]);
diag.setLogger(Object.fromEntries(logger), DiagLogLevel.ALL);

/** Returns the drops that `diag` has reported. Fails for other warnings of the processor. */
export function dropped() {
	const prefix = "@knowledgepulse/scoring-otel: ";
	const own = diagnostics.warn.filter((text) => text.startsWith(prefix));
	return own.map((text) => {
		assert.ok(text.startsWith(`${prefix}dropped `), text);
		return text.slice(`${prefix}dropped `.length);
	});
}

/**
 * A tracer with a processor with these options. `runs` and `errors` collect the arguments of its
 * callbacks; `spans()` returns the ended spans, `events()` the log records. `ended` changes ended spans.
 */
export function tracing(options = {}, provide = {}, ended = (span) => span) {
	const logs = new InMemoryLogRecordExporter();
	const loggerProvider = new LoggerProvider({
		processors: [new SimpleLogRecordProcessor({ exporter: logs })],
	});
	const runs = [];
	const errors = [];
	const processor = new ScoringSpanProcessor({
		scorer: new Scorer(),
		onScore: (run) => runs.push(run),
		onError: (failure) => errors.push(failure),
		loggerProvider,
		...options,
	});
	const spans = new InMemorySpanExporter();
	const provider = new NodeTracerProvider({
		...provide,
		spanProcessors: [
			new SimpleSpanProcessor(spans),
			{
				onStart: (span, context) => processor.onStart(span, context),
				onEnd: (span) => processor.onEnd(ended(span)),
				forceFlush: () => processor.forceFlush(),
				shutdown: () => processor.shutdown(),
			},
		],
	});
	return {
		processor,
		provider,
		runs,
		errors,
		tracer: provider.getTracer("test"),
		flush: () => processor.forceFlush(),
		spans: () => spans.getFinishedSpans(),
		events: () => logs.getFinishedLogRecords(),
	};
}

/** Starts a span below `parent`, if one is given. */
export function start(tracer, name, attributes = {}, parent = undefined) {
	const above = parent ? trace.setSpan(context.active(), parent) : context.active();
	return tracer.startSpan(name, { attributes }, above);
}

/** Attributes of an agent. */
export const agent = (name) => ({
	"gen_ai.operation.name": "invoke_agent",
	"gen_ai.agent.name": name,
});

/** Attributes of a model call that answers `question` with `answer`. */
export const chat = (question, answer) => ({
	"gen_ai.operation.name": "chat",
	"gen_ai.input.messages": JSON.stringify([
		{ role: "user", parts: [{ type: "text", content: question }] },
	]),
	"gen_ai.output.messages": JSON.stringify([
		{ role: "assistant", parts: [{ type: "text", content: answer }] },
	]),
});

/** A run of one model call below a root; returns the root, which is open unless `end` is true. */
export function answer(tracer, question, { end = true } = {}) {
	const root = start(tracer, "run");
	start(tracer, "chat", chat(question, `${question}!`), root).end();
	if (end) root.end();
	return root;
}

/** As {@link tracing}, after one run, which is scored if it can be; `root` is its span. */
export async function answered(options, provide) {
	const traced = tracing(options, provide);
	const root = answer(traced.tracer, "Hello?");
	await traced.flush();
	return { ...traced, root };
}

export const objectives = ({ runs }) => runs.map(({ trace }) => trace.task.objective);

/** The steps of a trace in short: type, then the tool and its input, or else the content. */
export const shortly = ({ steps }) =>
	steps.map(({ type, tool, input, content }) =>
		tool ? [type, tool.name, input] : [type, content],
	);

/** The answers of the model in a run, in order. */
export const answersOf = ({ trace }) =>
	trace.steps.filter(({ type }) => type === "thought").map(({ content }) => content);
