/** Spans from which the limits of the tracer provider have cut or dropped something. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { agent, chat, diagnostics, dropped, objectives, start, tracing } from "./support.mjs";

beforeEach(() => {
	diagnostics.warn.length = 0;
});

/** Runs with these limits of spans what `record` records below a root, then a complete run. */
async function limited(spanLimits, record, ended = undefined) {
	const traced = tracing({ assumeSuccess: true }, { spanLimits }, ended);
	const root = start(traced.tracer, "run");
	record(traced.tracer, root);
	root.end();
	start(traced.tracer, "chat", chat("complete", "!")).end();
	await traced.flush();
	assert.deepEqual(traced.errors, []);
	return traced;
}

const LIMIT = 128;
/** A model call whose longest attribute has `length` characters. */
const chatOf = (length) =>
	chat("Hello?", "!".repeat(length - chat("", "")["gen_ai.output.messages"].length));

const withEvent = (attributes) => (tracer, root) => {
	const span = start(tracer, "chat", { "gen_ai.operation.name": "chat" }, root);
	span.addEvent("gen_ai.user.message", { content: "Hello?" });
	span.addEvent("gen_ai.choice", attributes);
	span.end();
};
const withChat = (attributes) => (tracer, root) => start(tracer, "chat", attributes, root).end();

for (const [name, spanLimits, record] of [
	["a value as long as allowed", { attributeValueLengthLimit: LIMIT }, withChat(chatOf(LIMIT))],
	["a cut value", { attributeValueLengthLimit: LIMIT }, withChat(chatOf(10 * LIMIT))],
	[
		"a cut value in a list",
		{ attributeValueLengthLimit: LIMIT },
		withChat({ ...chat("Hello?", "!"), "gen_ai.prompt": ["a", "b".repeat(200)] }),
	],
	[
		"a cut value of an event",
		{ attributeValueLengthLimit: LIMIT },
		withEvent({ content: "!".repeat(200) }),
	],
	["dropped attributes", { attributeCountLimit: 3 }, withChat({ a: 1, ...chat("Hello?", "!") })],
	[
		"dropped attributes of an event",
		{ attributePerEventCountLimit: 1 },
		withEvent({ content: "!", role: "assistant" }),
	],
	["dropped events", { eventCountLimit: 1 }, withEvent({ content: "!" })],
])
	test(`ScoringSpanProcessor drops a trace with ${name}, and says so`, async () => {
		const traced = await limited(spanLimits, record);
		assert.deepEqual(objectives(traced), ["complete"]);
		assert.deepEqual(dropped(), ["2 spans of traces that span limits have cut"]);
	});

test("ScoringSpanProcessor drops later spans of a cut trace", async () => {
	const traced = await limited({ attributeValueLengthLimit: LIMIT }, (tracer, root) => {
		const span = start(tracer, "invoke_agent", agent("a"), root);
		start(tracer, "chat", chatOf(10 * LIMIT), span).end();
		start(tracer, "chat", chat("later", "!"), span).end();
		span.end();
	});
	assert.deepEqual(objectives(traced), ["complete"]);
	const expected = [
		"3 spans of traces that span limits have cut",
		"1 later spans of dropped traces",
	];
	assert.deepEqual(dropped(), expected);
});

const open = (values) => (tracer, root) => {
	const span = start(tracer, "chat", chatOf(LIMIT - 1), root);
	span.setAttributes(values);
	span.end();
};

for (const [name, spanLimits, record] of [
	["values shorter than allowed", { attributeValueLengthLimit: LIMIT }, open({})],
	[
		"attributes that are not read as long as allowed",
		{ attributeValueLengthLimit: LIMIT },
		open({ "http.url": "x".repeat(LIMIT) }),
	],
	["no limit", {}, open({ "gen_ai.request.id": "" })],
	["as many attributes as allowed", { attributeCountLimit: 3 }, open({})],
])
	test(`ScoringSpanProcessor scores a trace with ${name}`, async () => {
		const traced = await limited(spanLimits, record);
		assert.deepEqual(objectives(traced), ["Hello?", "complete"]);
		assert.deepEqual(dropped(), []);
	});

/** As of an SDK whose limits cannot be known. */
const withoutLimits = (span) => ({
	...span,
	spanContext: () => span.spanContext(),
	_spanLimits: undefined,
});

const MESSAGES = JSON.stringify([
	{ role: "user", content: 'A "quoted" \\ {text' },
	{ role: "assistant", content: "]}" },
]);

test("ScoringSpanProcessor drops a trace with JSON that lacks its end, if limits are unknown", async () => {
	for (let length = 2; length < MESSAGES.length; length++) {
		diagnostics.warn.length = 0;
		const cut = { ...chat("Hello?", "!"), "gen_ai.input.messages": MESSAGES.slice(0, length) };
		const traced = await limited({}, withChat(cut), withoutLimits);
		assert.deepEqual(objectives(traced), ["complete"], MESSAGES.slice(0, length));
		assert.deepEqual(dropped(), ["2 spans of traces that span limits have cut"]);
	}
});

for (const text of [
	MESSAGES,
	`${MESSAGES}\n`,
	"[INST] Hello",
	"{name, please",
	'{"a": 1} and {"b": 2}',
	"[1]",
	"",
])
	test(`ScoringSpanProcessor scores a trace with ${JSON.stringify(text)}, if limits are unknown`, async () => {
		const attributes = { ...chat("Hello?", "!"), "gen_ai.prompt": text };
		const traced = await limited({}, withChat(attributes), withoutLimits);
		assert.deepEqual(objectives(traced), ["Hello?", "complete"]);
		assert.deepEqual(dropped(), []);
	});
