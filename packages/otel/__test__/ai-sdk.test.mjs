/** Spans of Vercel's AI SDK, from its own instrumentation and its mock model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { calls, modelOf, says } from "../../../__test__/support/ai-sdk.mjs";
import { shortly, tracing } from "./support.mjs";

const weather = tool({
	description: "The weather in a city",
	inputSchema: z.object({ city: z.string() }),
	execute: async ({ city }) => {
		if (city === "Rmoe") throw new Error("no such city");
		return { sky: "sunny", city };
	},
});

/** A run in which a tool fails once. */
const loop = ({ tracer }, city = "Rome") => ({
	model: modelOf(
		[says("I look it up."), calls("c1", "weather", { city: "Rmoe" })],
		[says("I look it up."), calls("c2", "weather", { city })],
		[says(`It is sunny in ${city}.`)],
	),
	system: "You know the weather.",
	prompt: `How is the weather in ${city}?`,
	tools: { weather },
	stopWhen: stepCountIs(5),
	experimental_telemetry: { isEnabled: true, tracer },
});

const STEPS = [
	["thought", "I look it up."],
	["tool_call", "weather", { city: "Rmoe" }],
	["observation", "no such city"],
	["thought", "I look it up."],
	["error_recovery", "weather", { city: "Rome" }],
	["observation", '{"city":"Rome","sky":"sunny"}'],
	["thought", "It is sunny in Rome."],
];

async function consume(stream) {
	for await (const _ of stream);
}

for (const [name, run] of [
	["generateText", generateText],
	["streamText", (options) => consume(streamText(options).textStream)],
])
	test(`ScoringSpanProcessor scores the tool loop of ${name} as what happened`, async () => {
		const traced = tracing({ assumeSuccess: true, domain: "travel" });
		await run(loop(traced));
		await traced.flush();
		const [{ trace, provenance, report, spanContext }] = traced.runs;
		assert.equal(traced.runs.length, 1);
		assert.deepEqual(traced.errors, []);
		assert.equal(trace.task.objective, "How is the weather in Rome?");
		assert.deepEqual(shortly(trace), STEPS);
		assert.equal(trace.outcome.result_summary, "It is sunny in Rome.");
		assert.equal(trace.metadata.task_domain, "travel");
		assert.equal(trace.metadata.framework, "otel");
		assert.equal(provenance.successFrom, "assumed");

		assert.equal(report.score, await new Scorer().evaluateValue(trace));

		const root = traced.spans().find(({ name: n }) => n === `ai.${name}`);
		const { traceId, spanId } = root.spanContext();
		assert.equal(spanContext.spanId, spanId);
		assert.deepEqual([provenance.key, provenance.source.name], [traceId, traceId]);
		const [event] = traced.events();
		assert.equal(event.attributes["gen_ai.evaluation.score.value"], report.score);
	});

test("ScoringSpanProcessor keeps all attributes that the importer reads", async () => {
	const traced = tracing({ assumeSuccess: true });
	await generateText(loop(traced));
	await traced.flush();
	const [{ trace, provenance }] = traced.runs;
	const spans = traced.spans().map((span) =>
		JSON.stringify({
			...span.spanContext(),
			name: span.name,
			parentSpanId: span.parentSpanContext?.spanId,
			startTime: span.startTime,
			status: span.status,
			attributes: span.attributes,
			events: span.events,
		}),
	);
	const source = { name: "all", data: spans.join("\n") };
	const all = importTraces(source, { assumeSuccess: true });
	const { value } = await all.next();
	assert.deepEqual(value.trace, trace);
	assert.deepEqual(value.provenance.skipped, provenance.skipped);
});

test("ScoringSpanProcessor makes one trace of an agent and another that it calls as a tool", async () => {
	const traced = tracing({ assumeSuccess: true });
	const ask = tool({
		inputSchema: z.object({ city: z.string() }),
		execute: async ({ city }) => (await generateText(loop(traced, city))).text,
	});
	await generateText({
		model: modelOf([calls("a1", "ask", { city: "Rome" })], [says("Take sunglasses.")]),
		prompt: "What do I need in Rome?",
		tools: { ask },
		stopWhen: stepCountIs(3),
		experimental_telemetry: { isEnabled: true, tracer: traced.tracer },
	});
	await traced.flush();
	assert.deepEqual(traced.errors, []);
	const [{ trace, spanContext }, ...others] = traced.runs;
	assert.deepEqual(others, []);
	assert.equal(trace.task.objective, "What do I need in Rome?");
	assert.deepEqual(shortly(trace), [
		["tool_call", "ask", { city: "Rome" }],
		...STEPS,
		["observation", "It is sunny in Rome."],
		["thought", "Take sunglasses."],
	]);
	const top = traced.spans().find((span) => !span.parentSpanContext);
	assert.equal(spanContext.spanId, top.spanContext().spanId);
});

test("ScoringSpanProcessor treats a run whose model fails as failed", async () => {
	const traced = tracing();
	const model = modelOf([calls("c1", "weather", { city: "Rome" })]);
	await assert.rejects(generateText({ ...loop(traced), model, maxRetries: 0 }));
	await traced.flush();
	assert.deepEqual(traced.errors, []);
	const [{ trace, provenance }] = traced.runs;
	assert.equal(trace.metadata.success, false);
	assert.equal(provenance.successFrom, "status");
});
