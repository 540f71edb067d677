/** The event of an evaluation, as the GenAI semantic conventions define it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { logs } from "@opentelemetry/api-logs";
import {
	InMemoryLogRecordExporter,
	LoggerProvider,
	SimpleLogRecordProcessor,
} from "@opentelemetry/sdk-logs";
import { run } from "../../../__test__/support/child.mjs";
import { answer, answered, tracing } from "./support.mjs";

/** A scorer that returns this report. */
const scorerOf = (report) => ({ explainValue: async () => report });

const report = {
	score: 0.525,
	dimensions: { complexity: 0.425, novelty: 0.5, toolDiversity: 1, outcomeConfidence: 0.8 },
	weights: { complexity: 0.25, novelty: 0.35, toolDiversity: 0.15, outcomeConfidence: 0.25 },
	overrides: [
		{ name: "error-recovery", before: 0.5, after: 0.6 },
		{ name: "low-tool-diversity", before: 0.6, after: 0.525 },
	],
	novelty: { source: "empty-cache" },
};

test("gen_ai.evaluation.result has the score, a label and an explanation", async () => {
	const traced = await answered({ assumeSuccess: true, scorer: scorerOf(report) });
	const [{ eventName, attributes, instrumentationScope, spanContext }] = traced.events();
	assert.equal(eventName, "gen_ai.evaluation.result");
	assert.deepEqual(attributes, {
		"gen_ai.evaluation.name": "knowledgepulse.value",
		"gen_ai.evaluation.score.value": 0.525,
		"gen_ai.evaluation.score.label": "medium",
		"gen_ai.evaluation.explanation":
			"complexity 0.42 × 0.25, novelty 0.50 × 0.35 (empty-cache), toolDiversity 1.00 × 0.15, outcomeConfidence 0.80 × 0.25; error-recovery +0.10; low-tool-diversity -0.07",
	});
	assert.equal(instrumentationScope.name, "@knowledgepulse/scoring-otel");
	const [run] = traced.runs;
	assert.equal(spanContext.traceId, run.spanContext.traceId);
	assert.equal(spanContext.spanId, run.spanContext.spanId);
});

test("gen_ai.evaluation.score.label is a string, or an error", async () => {
	for (const [value, found] of [
		[undefined, "undefined"],
		[5, "5"],
		[Promise.resolve("x"), "a promise"],
	]) {
		const traced = await answered({
			assumeSuccess: true,
			scorer: scorerOf(report),
			label: () => value,
		});
		const [{ error }] = traced.errors;
		assert.equal(error.code, "INVALID_OPTION");
		assert.equal(error.message, `label(): expected a string, got ${found}`);
		assert.equal(traced.events().length, 0);
	}
});

const passes = ({ score }) => (score > 0.5 ? "pass" : "fail");

for (const [score, expected, label] of [
	[0, "low"],
	[0.39, "low"],
	[0.4, "medium"],
	[0.6, "medium"],
	[0.61, "high"],
	[1, "high"],
	[0.51, "pass", passes],
	[0.5, "fail", passes],
])
	test(`gen_ai.evaluation.score.label of ${score} is ${expected}`, async () => {
		const scorer = scorerOf({ ...report, score });
		const traced = await answered({ assumeSuccess: true, scorer, label });
		const [{ attributes }] = traced.events();
		assert.equal(attributes["gen_ai.evaluation.score.label"], expected);
	});

test("gen_ai.evaluation.result goes to the global provider, even one set later", async (t) => {
	const traced = tracing({ assumeSuccess: true, loggerProvider: undefined });
	answer(traced.tracer, "before");
	await traced.flush();
	const exporter = new InMemoryLogRecordExporter();
	const processors = [new SimpleLogRecordProcessor({ exporter })];
	logs.setGlobalLoggerProvider(new LoggerProvider({ processors }));
	t.after(() => logs.disable());
	answer(traced.tracer, "after");
	await traced.flush();
	assert.equal(traced.runs.length, 2);
	assert.equal(exporter.getFinishedLogRecords().length, 1);
});

/** Providers of the Logs API in `@opentelemetry/api` 1.10 and in `@opentelemetry/api-logs`, and what they get. */
const body = async ({ input: registered }) => {
	const { default: api } = await import("@opentelemetry/api");
	const { logs } = await import("@opentelemetry/api-logs");
	const emitted = [];
	const provider = (name) => ({ getLogger: () => ({ emit: () => emitted.push(name) }) });
	let ownProvider = { getLogger: () => ({ emit() {} }) };
	api.logs = { getLoggerProvider: () => ownProvider };
	const { ScoringSpanProcessor } = await import("@knowledgepulse/scoring-otel");
	const { BasicTracerProvider } = await import("@opentelemetry/sdk-trace-node");
	const report = { score: 1, dimensions: {}, weights: {}, overrides: [], novelty: {} };
	const scorer = { explainValue: async () => report };
	const processor = new ScoringSpanProcessor({ scorer, assumeSuccess: true });
	if (registered.includes("api")) ownProvider = provider("api");
	if (registered.includes("api-logs")) logs.setGlobalLoggerProvider(provider("api-logs"));
	if (registered.includes("both")) {
		ownProvider = provider("both");
		logs.setGlobalLoggerProvider(ownProvider);
	}
	const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer("test");
	const messages = JSON.stringify([{ role: "user", content: "Hello?" }]);
	const span = tracer.startSpan("chat");
	span.setAttributes({ "gen_ai.input.messages": messages, "gen_ai.completion": "Hello!" });
	span.end();
	await processor.forceFlush();
	return emitted;
};

for (const registered of [["api"], ["api-logs"], ["both"], []])
	test(`gen_ai.evaluation.result goes to the provider registered with ${registered[0] ?? "none"}`, async () => {
		const { value, stderr } = await run(body, { input: registered, preload: false });
		assert.deepEqual(value, registered, stderr);
	});
