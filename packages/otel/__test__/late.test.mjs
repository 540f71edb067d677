/** Spans that begin or end after their local root. */
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

// Before the processor is loaded, which takes the timers of then.
mock.timers.enable({ apis: ["setTimeout"] });
const { agent, answer, answersOf, chat, diagnostics, dropped, objectives, start, tracing } =
	await import("./support.mjs");

const WAIT_MS = 10_000;

beforeEach(() => {
	diagnostics.warn.length = 0;
});

/** Makes these model calls below a span, one after another, each of which takes `ms`. */
function call(tracer, above, questions, ms = WAIT_MS - 1) {
	for (const question of questions) {
		const span = start(tracer, "chat", chat(question, `${question}!`), above);
		mock.timers.tick(ms);
		span.end();
	}
}

const FOUR = ["one", "two", "three", "four"];

test("ScoringSpanProcessor scores a run that outlives its local root once, when nothing happens for waitMs", async () => {
	const traced = tracing({ assumeSuccess: true, waitMs: WAIT_MS });
	const root = start(traced.tracer, "POST /jobs");
	const first = start(traced.tracer, "chat", chat("one", "one!"), root);
	root.end();
	first.end();
	mock.timers.tick(WAIT_MS - 1);
	call(traced.tracer, root, FOUR.slice(1));
	mock.timers.tick(WAIT_MS);
	call(traced.tracer, root, ["late"]);
	await traced.flush();
	assert.deepEqual(traced.runs.map(answersOf), [["one!", "two!", "three!", "four!"]]);
	assert.equal(traced.runs[0].spanContext.spanId, root.spanContext().spanId);
	assert.deepEqual(dropped(), ["1 late spans of finished traces"]);
});

for (const [name, ms] of [
	["at once", 0],
	["after minutes", 600_000],
])
	test(`ScoringSpanProcessor scores a run once that begins below an ended span ${name}`, async () => {
		const traced = tracing({ assumeSuccess: true, waitMs: WAIT_MS });
		const root = start(traced.tracer, "POST /jobs");
		const handler = start(traced.tracer, "handler", {}, root);
		handler.end();
		root.end();
		mock.timers.tick(ms);
		call(traced.tracer, handler, FOUR);
		mock.timers.tick(WAIT_MS);
		await traced.flush();
		assert.deepEqual(traced.runs.map(answersOf), [["one!", "two!", "three!", "four!"]]);
		assert.deepEqual(dropped(), []);
	});

test("ScoringSpanProcessor scores a call that takes longer than waitMs after its local root", async () => {
	const traced = tracing({ assumeSuccess: true, waitMs: WAIT_MS });
	const root = start(traced.tracer, "POST /jobs");
	const open = start(traced.tracer, "chat", chat("Hello?", "Hello!"), root);
	root.end();
	mock.timers.tick(600_000);
	open.end();
	mock.timers.tick(WAIT_MS);
	await traced.flush();
	assert.deepEqual(objectives(traced), ["Hello?"]);
	assert.deepEqual(dropped(), []);
});

test("forceFlush scores a run once: what comes later is counted, and scored in no piece", async () => {
	const traced = tracing({ assumeSuccess: true });
	const root = answer(traced.tracer, "one", { end: false });
	const open = start(traced.tracer, "chat", chat("open", "open!"), root);
	root.end();
	await traced.flush();
	open.end();
	const inner = start(traced.tracer, "invoke_agent", agent("inner"), open);
	call(traced.tracer, inner, FOUR);
	inner.end();
	start(traced.tracer, "SELECT", { "db.system": "sqlite" }, root).end();
	await traced.flush();
	assert.deepEqual(traced.runs.map(answersOf), [["one!"]]);
	assert.deepEqual(traced.errors, []);
	assert.deepEqual(dropped(), [
		"1 late spans of finished traces",
		"5 late spans of finished traces",
	]);
});

test("ScoringSpanProcessor waits for a span above others that have ended, also in forceFlush", async () => {
	const traced = tracing({ assumeSuccess: true, waitMs: WAIT_MS });
	const root = start(traced.tracer, "POST /jobs");
	const outer = start(traced.tracer, "invoke_agent", agent("outer"), root);
	root.end();
	const step = start(traced.tracer, "step", {}, outer);
	for (const question of FOUR) {
		const inner = start(traced.tracer, "invoke_agent", agent("inner"), step);
		call(traced.tracer, inner, [question], 600_000);
		inner.end();
		mock.timers.tick(600_000);
		await traced.flush();
	}
	outer.end();
	mock.timers.tick(600_000);
	await traced.flush();
	assert.deepEqual(objectives(traced), []);
	step.end();
	await traced.flush();
	assert.deepEqual(traced.runs.map(answersOf), [["one!", "two!", "three!", "four!"]]);
	assert.equal(traced.runs[0].spanContext.spanId, outer.spanContext().spanId);
	assert.deepEqual(dropped(), []);
});

test("ScoringSpanProcessor drops a run below a span that does not end", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 1 });
	for (const name of ["one", "two"]) {
		const root = start(traced.tracer, "POST /jobs");
		const outer = start(traced.tracer, "invoke_agent", agent("outer"), root);
		call(traced.tracer, outer, [name]);
		root.end();
	}
	await traced.processor.shutdown();
	assert.deepEqual(objectives(traced), []);
	assert.deepEqual(dropped(), [
		"3 spans of idle traces, because 1 were open",
		"3 spans of traces that were open at shutdown",
	]);
});

test("forceFlush before the first call has ended leaves the run to be scored later", async () => {
	const traced = tracing({ assumeSuccess: true });
	const root = start(traced.tracer, "POST /jobs");
	const open = start(traced.tracer, "chat", chat("one", "one!"), root);
	root.end();
	await traced.flush();
	open.end();
	call(traced.tracer, root, ["two"]);
	await traced.flush();
	assert.deepEqual(traced.runs.map(answersOf), [["one!", "two!"]]);
	assert.deepEqual(dropped(), []);
});

test("ScoringSpanProcessor makes room for a run by ended requests, not by other runs", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 3 });
	const run = answer(traced.tracer, "run", { end: false });
	for (let index = 0; index < 10; index++) {
		const request = start(traced.tracer, "GET /");
		request.end();
		start(traced.tracer, "SELECT", {}, request).end();
	}
	run.end();
	await traced.flush();
	assert.deepEqual(objectives(traced), ["run"]);
	assert.deepEqual(dropped(), []);
});

test("ScoringSpanProcessor forgets finished traces, those without a run first, beyond 100 × maxTraces spans", async () => {
	const traced = tracing({ assumeSuccess: true, maxTraces: 1 });
	const root = answer(traced.tracer, "run");
	await traced.flush();
	for (let index = 0; index < 300; index++) start(traced.tracer, "GET /").end();
	call(traced.tracer, root, ["late"]);
	await traced.flush();
	assert.deepEqual(objectives(traced), ["run"]);
	for (let index = 0; index < 100; index++) {
		answer(traced.tracer, "another");
		await traced.flush();
	}
	call(traced.tracer, root, ["forgotten"]);
	await traced.flush();
	assert.deepEqual([...new Set(objectives(traced))], ["run", "another", "forgotten"]);
	assert.deepEqual(dropped(), ["1 late spans of finished traces"]);
});
