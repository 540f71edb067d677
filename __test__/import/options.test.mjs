import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateLogs, fromMessages, importTraces } from "@knowledgepulse/scoring/logs";
import { all, assumed, conversation, lines } from "../support/imports.mjs";

const messages = conversation("one");

/** Imports one run; returns the item. */
async function only(options, source = messages) {
	const items = await all(importTraces(source, options));
	assert.equal(items.length, 1);
	return items[0];
}

test("importTraces has defaults for what a log does not say", async () => {
	const { trace, provenance } = await only(assumed);
	const { id, ...others } = trace;
	assert.match(id, /^kp:trace:[0-9a-f-]{36}$/);
	assert.deepEqual(others, {
		"@context": "https://openknowledgepulse.org/schema/v1",
		"@type": "ReasoningTrace",
		metadata: {
			created_at: "1970-01-01T00:00:00.000Z",
			task_domain: "general",
			success: true,
			quality_score: 0,
			visibility: "private",
			privacy_level: "private",
			framework: "messages",
		},
		task: { objective: "one" },
		steps: [{ step_id: 0, type: "thought", content: "Done." }],
		outcome: { result_summary: "Done.", confidence: 0.8 },
	});
	assert.deepEqual(provenance, {
		importer: 1,
		format: "messages",
		source: { name: "source", line: 1 },
		key: null,
		objectiveFrom: "human",
		successFrom: "assumed",
		confidenceFrom: "default",
		createdAtFrom: "none",
		domainFrom: "default",
		facts: { calls: 0, failed: 0, refused: 0, unanswered: 0, retries: 0, userMessages: 1 },
		skipped: {},
	});
});

test("importTraces takes options for what a log does not say", async () => {
	const { trace, provenance } = await only({
		objective: "another",
		success: false,
		domain: "cooking",
		createdAt: "2026-01-02T03:04:05+01:00",
		visibility: "org",
		privacyLevel: "aggregated",
	});
	assert.equal(trace.task.objective, "another");
	assert.equal(trace.steps.length, 2);
	assert.deepEqual(trace.metadata, {
		created_at: "2026-01-02T02:04:05.000Z",
		task_domain: "cooking",
		success: false,
		quality_score: 0,
		visibility: "org",
		privacy_level: "aggregated",
		framework: "messages",
	});
	assert.equal(trace.outcome.confidence, 0.2);
	const { objectiveFrom, successFrom, createdAtFrom, domainFrom } = provenance;
	assert.deepEqual(
		[objectiveFrom, successFrom, createdAtFrom, domainFrom],
		["option", "option", "option", "option"],
	);
});

test("importTraces takes the confidence from the probabilities of tokens", async () => {
	const answer = {
		messages: [messages[0]],
		success: true,
		choices: [
			{
				message: messages[1],
				logprobs: { content: [{ logprob: -0.1 }, { logprob: -0.3 }] },
			},
		],
	};
	const source = { name: "n", data: answer };
	const { trace, provenance } = await only({ ...assumed, confidence: "logprobs" }, source);
	assert.equal(trace.outcome.confidence, 0.818731);
	assert.equal(provenance.confidenceFrom, "logprobs");
	assert.equal((await only(assumed, source)).trace.outcome.confidence, 0.8);
});

const data = {
	id: "1",
	input: messages[0].content,
	scores: [{ name: "confidence", value: 0.5 }],
	observations: [{ id: "2", type: "GENERATION", input: messages.slice(0, 1), output: messages[1] }],
};

test("importTraces prefers a given confidence to that of the log", async () => {
	const own = await only(assumed, { name: "n", data });
	assert.equal(own.provenance.confidenceFrom, "explicit");
	for (const source of [messages, { name: "n", data }])
		for (const confidence of [0, 0.35, 1]) {
			const { trace, provenance } = await only({ ...assumed, confidence }, source);
			assert.equal(trace.outcome.confidence, confidence);
			assert.equal(provenance.confidenceFrom, "option");
		}
});

const { trace: written } = await only(assumed);

test("labels take precedence over what a log says and over what is assumed", async () => {
	const labels = new Map([[written.id, false]]);
	const others = { "kp:trace:none": true };
	const row = { instance_id: "1", messages, resolved: false };
	const { trace: resolved } = await only({}, { name: "n", data: row });
	const labelled = { labels: { [resolved.id]: true } };
	const { trace: own } = await only(assumed, { name: "n", data });
	for (const [options, source, ...expected] of [
		[{ labels }, messages, false, 0.2, "option"],
		[{ labels, assumeSuccess: "skip" }, messages, false, 0.2, "option"],
		[{ labels, success: true }, messages, true, 0.8, "option"],
		[{ labels: others, ...assumed }, messages, true, 0.8, "assumed"],
		[labelled, { name: "n", data: row }, true, 0.8, "option"],
		[{ labels: { 1: false } }, { name: "n", data }, false, 0.5, "option"],
		[{ labels: { 1: false, [own.id]: true } }, { name: "n", data }, true, 0.5, "option"],
	]) {
		const { trace, provenance } = await only(options, source);
		const { metadata, outcome } = trace;
		const found = [metadata.success, outcome.confidence, provenance.successFrom];
		assert.deepEqual(found, expected);
		const [scored] = await all(evaluateLogs(source, options));
		assert.deepEqual([scored.success, scored.confidence, scored.successFrom], expected);
	}
	await assert.rejects(only({ labels: others }), { code: "SUCCESS_UNKNOWN" });
	for (const [labels, path] of [
		[{ a: 1 }, "labels.a"],
		[new Map([[5, true]]), "labels"],
	])
		assert.throws(() => importTraces(messages, { labels }), { code: "INVALID_OPTION", path });
});

test("a trace whose success was assumed stays one, until an option decides", async () => {
	const { metadata, ...members } = written;
	const data = { ...members, metadata: { success_from: "assumed", ...metadata } };
	const [kept, failed] = [true, false].map((success) => ({ ...data.metadata, success }));
	const { success_from, ...judged } = failed;
	const labels = { [written.id]: false };
	for (const [options, metadata, successFrom] of [
		[{}, kept, "assumed"],
		[{ assumeSuccess: true }, kept, "assumed"],
		[{ assumeSuccess: false }, failed, "assumed"],
		[{ assumeSuccess: false, labels }, judged, "option"],
	]) {
		const { trace, provenance } = await only(options, { name: "n", data });
		assert.equal(JSON.stringify(trace), JSON.stringify({ ...data, metadata }));
		assert.equal(provenance.successFrom, successFrom);
	}
	const skipped = importTraces({ name: "n", data }, { assumeSuccess: "skip" });
	assert.deepEqual(await all(skipped), []);
	assert.deepEqual(skipped.report.inputs[0].skipped, { success_unknown: 1 });
	const own = await only({ assumeSuccess: false }, { name: "n", data: written });
	assert.deepEqual([own.trace, own.provenance.successFrom], [written, "own"]);
});

/** Values that options refuse. */
const wrong = {
	format: ["claude", "Messages", "", 5, null, true],
	assumeSuccess: ["true", "Skip", 1, null],
	confidence: ["default", true, -0.1, 1.5, Number.NaN, null],
	domain: [5, null, {}],
	createdAt: ["yesterday", "", 5, null, {}],
	visibility: ["public", 5, null],
	privacyLevel: ["none", 5, null],
	labels: [5, null, "id", [], new Set()],
	objective: [5, null, {}, " "],
	success: ["yes", 1, null],
	errors: ["ignore", true, null],
	signal: [5, null, {}],
};

test("importTraces treats undefined as no option", async () => {
	const nothing = Object.fromEntries(Object.keys(wrong).map((name) => [name, undefined]));
	const { trace } = await only({ ...nothing, ...assumed });
	assert.deepEqual(trace, (await only(assumed)).trace);
	await assert.rejects(only({ assumeSuccess: undefined }), { code: "SUCCESS_UNKNOWN" });
});

for (const [path, values] of Object.entries(wrong)) {
	test(`importTraces and fromMessages refuse other values of ${path}`, async () => {
		for (const value of values) {
			const options = { ...assumed, [path]: value };
			const expected = { name: "ScoringError", code: "INVALID_OPTION", path };
			assert.throws(() => importTraces(messages, options), expected, `${path}: ${value}`);
			await assert.rejects(fromMessages(messages, options), expected);
		}
	});
}

test("importTraces and fromMessages refuse unknown options, and name the nearest", async () => {
	for (const [options, path, message] of [
		[{ assumeSucces: true }, "assumeSucces", /did you mean assumeSuccess\?/],
		...[null, 5, "collect"].map((options) => [options, "options", /./]),
	]) {
		const expected = { code: "INVALID_OPTION", path, message };
		assert.throws(() => importTraces(messages, options), expected);
		await assert.rejects(fromMessages(messages, options), expected);
	}
	await assert.rejects(fromMessages(messages, { format: undefined }), {
		code: "INVALID_OPTION",
		path: "format",
	});
});

test("importTraces skips values of other formats than the given one", async () => {
	const log = `{"hello": "world"}\n${lines("one")}`;
	const imported = importTraces(log, { ...assumed, format: "messages" });
	assert.equal((await all(imported)).length, 1);
	assert.deepEqual(imported.report.inputs[0].skipped, { unknown_record: 1 });
});
