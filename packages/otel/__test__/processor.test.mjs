/** Runs and scores from spans. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { context, ROOT_CONTEXT, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import { AlwaysOffSampler, SamplingDecision } from "@opentelemetry/sdk-trace-node";
import {
	agent,
	answer,
	answered,
	chat,
	diagnostics,
	objectives,
	shortly,
	start,
	tracing,
} from "./support.mjs";

const assumed = { assumeSuccess: true };

test("ScoringSpanProcessor makes one run of an agent and the agents below it", async () => {
	const traced = tracing(assumed);
	const { tracer } = traced;
	const outer = start(tracer, "invoke_agent planner", agent("planner"));
	start(tracer, "chat", chat("Plan a trip", "I ask the guide."), outer).end();
	const inner = start(tracer, "invoke_agent guide", agent("guide"), outer);
	start(tracer, "chat", chat("Where to?", "To Rome."), inner).end();
	inner.end();
	outer.setStatus({ code: SpanStatusCode.OK });
	outer.end();
	await traced.flush();
	assert.deepEqual(traced.errors, []);
	const [{ trace, provenance, spanContext }, ...others] = traced.runs;
	assert.deepEqual(others, []);
	const { traceId, spanId } = outer.spanContext();
	assert.equal(provenance.key, `${traceId}:${spanId}`);
	assert.equal(spanContext.spanId, spanId);
	// That an agent stopped in order is no success.
	assert.equal(provenance.successFrom, "assumed");
	assert.equal(trace.task.objective, "Plan a trip");
	assert.deepEqual(shortly(trace), [
		["thought", "I ask the guide."],
		["observation", "Where to?"],
		["thought", "To Rome."],
	]);
});

test("ScoringSpanProcessor makes a run of each agent in a trace, and evaluates its span", async () => {
	const traced = tracing(assumed);
	const { tracer } = traced;
	const request = start(tracer, "request");
	const agents = ["first", "second"].map((name) => {
		const span = start(tracer, `invoke_agent ${name}`, agent(name), request);
		start(tracer, "chat", chat(name, "Done."), span).end();
		span.end();
		return span;
	});
	const rest = start(tracer, "chat", chat("rest", "Done."), request);
	rest.end();
	request.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["first", "second", "rest"]);
	const idsOf = (evaluated) => evaluated.map(({ spanContext }) => spanContext.spanId);
	const expected = [...agents, rest].map((span) => span.spanContext().spanId);
	assert.deepEqual(idsOf(traced.runs), expected);
	assert.deepEqual(idsOf(traced.events()).sort(), expected.sort());
});

test("ScoringSpanProcessor reads the parents of spans of version 1 of the SDK", async () => {
	const traced = tracing(assumed, {}, (span) => {
		const { spanId } = span.parentSpanContext ?? {};
		return Object.create(span, {
			parentSpanContext: { value: undefined },
			parentSpanId: { value: spanId },
		});
	});
	const { tracer } = traced;
	const request = start(tracer, "request");
	const outer = start(tracer, "invoke_agent planner", agent("planner"), request);
	start(tracer, "chat", chat("Plan a trip", "I ask the guide."), outer).end();
	const inner = start(tracer, "invoke_agent guide", agent("guide"), outer);
	start(tracer, "chat", chat("Where to?", "To Rome."), inner).end();
	for (const span of [inner, outer, request]) span.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["Plan a trip"]);
	assert.equal(traced.runs[0].spanContext.spanId, outer.spanContext().spanId);
});

test("ScoringSpanProcessor scores runs with a span that is its own parent", async () => {
	const ids = ["a", "a", "b"];
	const idGenerator = {
		generateTraceId: () => "c".repeat(32),
		generateSpanId: () => ids.shift().repeat(16),
	};
	const traced = tracing(assumed, { idGenerator });
	const root = start(traced.tracer, "run");
	const child = start(traced.tracer, "step", {}, root);
	start(traced.tracer, "chat", chat("Hello?", "Hello!"), child).end();
	root.end();
	child.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["Hello?"]);
});

test("ScoringSpanProcessor evaluates the local root of several calls without an agent", async () => {
	const traced = tracing(assumed);
	const request = start(traced.tracer, "request");
	for (const question of ["one", "two"])
		start(traced.tracer, "chat", chat(question, "Done."), request).end();
	request.end();
	await traced.flush();
	const [{ spanContext }] = traced.runs;
	assert.deepEqual(spanContext, request.spanContext());
});

test("ScoringSpanProcessor treats a span with a remote parent as a local root", async () => {
	const traced = tracing(assumed);
	const remote = {
		traceId: "0af7651916cd43dd8448eb211c80319c",
		spanId: "b7ad6b7169203331",
		traceFlags: TraceFlags.SAMPLED,
		isRemote: true,
	};
	const above = trace.setSpanContext(ROOT_CONTEXT, remote);
	const open = context.with(above, () => answer(traced.tracer, "one", { end: false }));
	context.with(above, () => answer(traced.tracer, "two"));
	await traced.flush();
	assert.deepEqual(objectives(traced), ["two"]);
	open.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["two", "one"]);
	for (const { spanContext } of traced.runs) assert.equal(spanContext.traceId, remote.traceId);
});

test("ScoringSpanProcessor treats a span with an unknown parent as a local root", async () => {
	const traced = tracing(assumed);
	const elsewhere = tracing().tracer.startSpan("request");
	context.with(trace.setSpan(ROOT_CONTEXT, elsewhere), () => {
		answer(traced.tracer, "one");
		answer(traced.tracer, "two");
	});
	await traced.flush();
	assert.deepEqual(objectives(traced), ["one", "two"]);
});

test("ScoringSpanProcessor keeps the order in which spans have begun", async () => {
	const traced = tracing(assumed);
	const { tracer } = traced;
	const root = start(tracer, "run");
	const at = { startTime: [1_700_000_000, 0] };
	const above = trace.setSpan(ROOT_CONTEXT, root);
	const [first, second] = ["first", "second"].map((name) =>
		tracer.startSpan("chat", { ...at, attributes: chat(name, `${name}!`) }, above),
	);
	second.end();
	first.end();
	root.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["first"]);
	assert.deepEqual(shortly(traced.runs[0].trace), [
		["thought", "first!"],
		["observation", "second"],
		["thought", "second!"],
	]);
});

test("ScoringSpanProcessor reads messages in span events", async () => {
	const traced = tracing(assumed);
	const span = start(traced.tracer, "chat", { "gen_ai.system": "openai" });
	span.addEvent("gen_ai.user.message", { content: "Hello?" });
	span.addEvent("gen_ai.choice", { content: "Hello!" });
	span.addEvent("exception", { "exception.message": "ignored" });
	span.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["Hello?"]);
});

test("ScoringSpanProcessor ignores traces without an agent, model call or tool", async () => {
	const traced = tracing();
	const request = start(traced.tracer, "GET /", { "error.type": "500" });
	start(traced.tracer, "SELECT", { "db.system": "sqlite" }, request).end();
	request.end();
	await traced.flush();
	assert.deepEqual([traced.runs, traced.errors], [[], []]);
});

test("ScoringSpanProcessor ignores spans that are not sampled", async () => {
	const recorded = { shouldSample: () => ({ decision: SamplingDecision.RECORD }) };
	for (const sampler of [new AlwaysOffSampler(), recorded]) {
		const traced = await answered(assumed, { sampler });
		assert.deepEqual([traced.runs, traced.errors], [[], []]);
	}
});

test("ScoringSpanProcessor scores runs in the order in which they have ended", async () => {
	const traced = tracing({ ...assumed, scorer: undefined });
	const names = Array.from({ length: 20 }, (_, index) => `${index}`);
	const open = names.map((name) => answer(traced.tracer, name, { end: false }));
	for (const span of open.reverse()) span.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), names.reverse());
	const sources = traced.runs.map(({ report }) => report.novelty.source);
	assert.deepEqual([...new Set(sources.slice(1))], ["cache"]);
});

test("ScoringSpanProcessor passes options on to the import", async () => {
	const traced = await answered({
		success: false,
		objective: "To greet",
		domain: "code",
		visibility: "private",
		privacyLevel: "federated",
	});
	const [{ trace }] = traced.runs;
	assert.equal(trace.task.objective, "To greet");
	assert.equal(trace.metadata.success, false);
	assert.equal(trace.metadata.task_domain, "code");
	assert.equal(trace.metadata.visibility, "private");
	assert.equal(trace.metadata.privacy_level, "federated");
});

test("ScoringSpanProcessor waits for spans that never end no longer than waitMs", async () => {
	// The wait does not keep the process alive.
	const alive = setInterval(() => {}, 1000);
	const { trace } = await new Promise((onScore) => {
		const { tracer } = tracing({ ...assumed, waitMs: 10, onScore });
		const root = answer(tracer, "Hello?", { end: false });
		start(tracer, "never ended", {}, root);
		root.end();
	});
	clearInterval(alive);
	assert.equal(trace.task.objective, "Hello?");
});

test("forceFlush waits for what onScore returns", async () => {
	let isDone = false;
	const onScore = async () => {
		await sleep(20);
		isDone = true;
	};
	await answered({ ...assumed, onScore });
	assert.ok(isDone);
});

test("forceFlush of the provider waits for scores", async () => {
	const traced = tracing(assumed);
	answer(traced.tracer, "Hello?");
	await traced.provider.forceFlush();
	assert.equal(traced.runs.length, 1);
});

test("onScore runs outside of all traces of the application", async () => {
	const actives = [];
	const onScore = () => actives.push(trace.getActiveSpan());
	const traced = tracing({ ...assumed, onScore });
	traced.tracer.startActiveSpan("chat", (span) => {
		span.setAttributes(chat("Hello?", "Hello!"));
		span.end();
	});
	await traced.flush();
	assert.deepEqual(actives, [undefined]);
});

const failure = new Error("expected");

function fail() {
	throw failure;
}

for (const [name, options] of [
	["the scorer", { scorer: { explainValue: fail } }],
	["a scorer that rejects", { scorer: { explainValue: async () => fail() } }],
	["onScore", { onScore: fail }],
	["an onScore that rejects", { onScore: async () => fail() }],
	["label", { label: fail }],
	["the logger", { loggerProvider: { getLogger: () => ({ emit: fail }) } }],
])
	test(`onError gets what ${name} throws`, async () => {
		const traced = await answered({ ...assumed, ...options });
		const [{ error, spanContext }, ...others] = traced.errors;
		assert.deepEqual(others, []);
		assert.equal(error, failure);
		assert.equal(spanContext.traceId, traced.root.spanContext().traceId);
		assert.equal(traced.runs.length, /label|logger/.test(name) ? 1 : 0);
	});

test("onError may throw: that is reported through diag", async () => {
	for (const onError of [fail, async () => fail()]) {
		diagnostics.error.length = 0;
		await answered({ onError });
		assert.equal(diagnostics.error.length, 1);
		assert.match(diagnostics.error[0], /scoring-otel: .*expected/);
	}
});

test("onError warns through diag by default", async () => {
	diagnostics.warn.length = 0;
	await answered({ onError: undefined });
	assert.equal(diagnostics.warn.length, 1);
	assert.match(diagnostics.warn[0], /scoring-otel: ImportError: .*assumeSuccess/);
});

test("diag says at level debug why there is no trace", async () => {
	diagnostics.debug.length = 0;
	const traced = await answered({ assumeSuccess: "skip" });
	assert.deepEqual([traced.runs, traced.errors], [[], []]);
	const [found] = diagnostics.debug.filter((text) => /scoring-otel/.test(text));
	assert.match(found, /success_unknown/);
});

test("ScoringSpanProcessor takes attributes of any kind", async () => {
	const traced = tracing(assumed);
	const broken = {
		"gen_ai.input.messages": "{not json",
		"gen_ai.output.messages": ["a", null, 3],
		"ai.toolCall.name": true,
		"llm.input_messages.x.message": "\ud800",
	};
	start(traced.tracer, "chat", broken).end();
	answer(traced.tracer, "Hello?");
	await traced.flush();
	assert.ok(objectives(traced).includes("Hello?"));
});
