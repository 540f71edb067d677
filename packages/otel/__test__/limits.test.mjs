/** Limits on spans kept in memory. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { ScoringSpanProcessor } from "@knowledgepulse/scoring-otel";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { run } from "../../../__test__/support/child.mjs";
import { answer, chat, diagnostics, dropped, objectives, start, tracing } from "./support.mjs";

beforeEach(() => {
	diagnostics.warn.length = 0;
});

test("ScoringSpanProcessor drops a trace with more than maxSpans spans, later spans included", async () => {
	const traced = tracing({ assumeSuccess: true, maxSpans: 3 });
	const root = start(traced.tracer, "run");
	for (let index = 0; index < 5; index++) {
		const call = start(traced.tracer, "chat", chat(`${index}`, "!"), root);
		start(traced.tracer, "below", {}, call).end();
		call.end();
	}
	root.end();
	answer(traced.tracer, "another");
	await traced.flush();
	assert.deepEqual(objectives(traced), ["another"]);
	assert.deepEqual(dropped(), [
		"4 spans of traces with more than 3",
		"7 later spans of dropped traces",
	]);
});

test("ScoringSpanProcessor drops the trace without a new span for the longest time", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 3 });
	const open = ["one", "two", "three"].map((name) => answer(traced.tracer, name, { end: false }));
	start(traced.tracer, "later", {}, open[0]).end();
	answer(traced.tracer, "four");
	start(traced.tracer, "chat", chat("late", "!"), open[1]).end();
	for (const root of open) root.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["four", "one", "three"]);
	assert.deepEqual(dropped(), [
		"2 spans of idle traces, because 3 were open",
		"1 later spans of dropped traces",
	]);
});

test("ScoringSpanProcessor scores an idle trace whose local root has ended", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 1 });
	const root = answer(traced.tracer, "one", { end: false });
	start(traced.tracer, "never ended", {}, root);
	root.end();
	start(traced.tracer, "another");
	await traced.flush();
	assert.deepEqual(objectives(traced), ["one"]);
	assert.deepEqual(dropped(), []);
});

/** About a kilobyte of attributes each. */
const large = (name) => chat(`${name} ${"x".repeat(300)}`, "y".repeat(300));

/** Starts a run with one ended model call, whose attributes are large. */
function largeRun(tracer, name) {
	const root = start(tracer, "run");
	start(tracer, "chat", large(name), root).end();
	return root;
}

const firstWords = (traced) => objectives(traced).map((text) => text.split(" ")[0]);

test("ScoringSpanProcessor drops the least recently active trace beyond maxBytes", async () => {
	const traced = tracing({ assumeSuccess: true, maxBytes: 5400 });
	const open = ["one", "two", "three", "four"].map((name) => largeRun(traced.tracer, name));
	start(traced.tracer, "later", {}, open[0]).end();
	largeRun(traced.tracer, "five").end();
	for (const root of open) root.end();
	await traced.flush();
	assert.deepEqual(firstWords(traced), ["five", "one", "three", "four"]);
	assert.deepEqual(dropped(), ["2 spans of idle traces, because there were more than 5400 bytes"]);
});

test("ScoringSpanProcessor drops only the trace that has more than maxBytes by itself", async () => {
	const traced = tracing({ assumeSuccess: true, maxBytes: 5400 });
	const small = largeRun(traced.tracer, "small");
	const root = start(traced.tracer, "run");
	start(traced.tracer, "chat", chat("Hello?", "!".repeat(6000)), root).end();
	root.end();
	small.end();
	await traced.flush();
	assert.deepEqual(firstWords(traced), ["small"]);
	assert.deepEqual(dropped(), ["2 spans of traces with more than 5400 bytes"]);
});

for (const [kind, run] of [
	["several spans", (tracer, name) => largeRun(tracer, name).end()],
	["one span", (tracer, name) => start(tracer, "chat", large(name)).end()],
])
	test(`maxBytes counts traces of ${kind} until they are scored`, async () => {
		const traced = tracing({ assumeSuccess: true, maxBytes: 4000 });
		for (let index = 0; index < 10; index++) run(traced.tracer, `${index}`);
		await traced.flush();
		assert.deepEqual(firstWords(traced), ["0", "1", "2"]);
		run(traced.tracer, "later");
		await traced.flush();
		assert.deepEqual(firstWords(traced), ["0", "1", "2", "later"]);
	});

test("ScoringSpanProcessor drops traces while maxTraces are being scored", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 2 });
	for (const name of ["one", "two", "three"]) answer(traced.tracer, name);
	await traced.flush();
	assert.equal(traced.events().length, 2);
	assert.deepEqual(dropped(), ["2 spans of traces, because 2 were being scored"]);
	answer(traced.tracer, "four");
	await traced.flush();
	assert.equal(traced.events().length, 3);
});

test("diag reports dropped spans at once, and then at most every ten seconds", async () => {
	const traced = tracing({ maxSpans: 1 });
	for (let count = 0; count < 100; count++) answer(traced.tracer, "one");
	assert.deepEqual(dropped(), ["2 spans of traces with more than 1"]);
	await traced.flush();
	assert.deepEqual(dropped().slice(1), ["198 spans of traces with more than 1"]);
	await traced.flush();
	assert.equal(dropped().length, 2);
});

test("shutdown scores ended runs, drops the others, and happens once", async () => {
	const traced = tracing({ assumeSuccess: true });
	answer(traced.tracer, "one");
	const root = answer(traced.tracer, "two", { end: false });
	start(traced.tracer, "open", {}, root);
	root.end();
	answer(traced.tracer, "three", { end: false });
	const { processor } = traced;
	assert.equal(processor.shutdown(), processor.shutdown());
	await processor.shutdown();
	assert.deepEqual(objectives(traced), ["one", "two"]);
	assert.deepEqual(dropped(), ["2 spans of traces that were open at shutdown"]);
});

test("shutdown ends the collection of spans", async () => {
	const traced = tracing({ assumeSuccess: true });
	const root = answer(traced.tracer, "one", { end: false });
	await traced.provider.shutdown();
	root.end();
	answer(traced.tracer, "two");
	await traced.processor.forceFlush();
	assert.deepEqual(traced.runs, []);
});

test("ScoringSpanProcessor does not keep the process alive", async () => {
	const body = async () => {
		const { ScoringSpanProcessor } = await import("@knowledgepulse/scoring-otel");
		const { BasicTracerProvider } = await import("@opentelemetry/sdk-trace-node");
		const { ROOT_CONTEXT, trace } = await import("@opentelemetry/api");
		const processor = new ScoringSpanProcessor({ waitMs: 2 ** 31 - 1 });
		const provider = new BasicTracerProvider({ spanProcessors: [processor] });
		const tracer = provider.getTracer("test");
		const root = tracer.startSpan("run");
		tracer.startSpan("open", {}, trace.setSpan(ROOT_CONTEXT, root));
		root.end();
		return "waiting";
	};
	const { value, stderr } = await run(body, { preload: false });
	assert.equal(value, "waiting", stderr);
});

test("ScoringSpanProcessor scores a run once in several processors with one scorer", async () => {
	const scorer = new Scorer();
	const runs = [];
	const [first, second, other] = [scorer, scorer, new Scorer()].map(
		(scorer, index) =>
			new ScoringSpanProcessor({ scorer, assumeSuccess: true, onScore: () => runs.push(index) }),
	);
	const provider = new NodeTracerProvider({ spanProcessors: [first, second, other] });
	for (const name of ["one", "two"]) answer(provider.getTracer("test"), name);
	await provider.forceFlush();
	assert.deepEqual(runs.sort(), [0, 0, 2, 2]);
	assert.deepEqual(dropped(), [
		"2 spans of traces that another processor scores",
		"2 spans of traces that another processor scores",
	]);
});
