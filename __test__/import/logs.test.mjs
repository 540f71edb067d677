/** The recorded logs, and the documentation of their formats. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, createReadStream, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Scorer, scoreWith } from "@knowledgepulse/scoring";
import { fromMessages, importTraces, LOG_FORMATS } from "@knowledgepulse/scoring/logs";
import { all, assumed, conversation, goldenOptions, recordings } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const options = { ...assumed, errors: "collect" };

/** JSON by RFC 8785. */
function canonical(value) {
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	if (Array.isArray(value)) return `[${value.map(canonical)}]`;
	const members = Object.keys(value)
		.sort()
		.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
	return `{${members}}`;
}

const sha = (text) => createHash("sha256").update(text).digest("hex").slice(0, 12);

const goldenStep = ({ type, tool, content, input }) => ({
	type,
	...(tool && { tool: tool.name }),
	...(content !== undefined && { contentSha: sha(content), contentChars: [...content].length }),
	...(input !== undefined && { inputSha: sha(canonical(input)) }),
});

const goldenTrace = ({ trace, provenance }) => ({
	id: trace.id,
	format: provenance.format,
	objective: trace.task.objective,
	objectiveFrom: provenance.objectiveFrom,
	success: trace.metadata.success,
	successFrom: provenance.successFrom,
	confidence: trace.outcome.confidence,
	confidenceFrom: provenance.confidenceFrom,
	createdAt: trace.metadata.created_at,
	createdAtFrom: provenance.createdAtFrom,
	domain: trace.metadata.task_domain,
	summarySha: sha(trace.outcome.result_summary),
	steps: trace.steps.map(goldenStep),
	skipped: provenance.skipped,
});

/** The results of importing these sources, in the form of golden files. */
async function goldenOf(sources, changes) {
	const imported = importTraces(sources, { ...options, ...changes });
	const items = await all(imported);
	return imported.report.inputs.map(({ name, formats, traces, skipped, errors }) => {
		const own = items.filter(({ provenance }) => provenance?.source.name === name);
		assert.equal(own.length, traces, name);
		return {
			name,
			formats,
			traces: own.map(goldenTrace),
			skipped,
			errors: errors.map(({ line, code }) => ({ line, code })),
		};
	});
}

for (const { name, paths, golden } of recordings) {
	test(`importTraces makes of ${name} logs what the specification says, by their content alone`, async (t) => {
		const together = golden.map(({ file, ...expected }, index) => ({
			name: paths[index],
			...expected,
		}));
		assert.deepEqual(await goldenOf(paths), together);
		const other = temporaryFolder(t);
		for (const [index, { file, ...expected }] of golden.entries()) {
			const misnamed = join(other, `${index}.${file.endsWith("l") ? "json" : "txt"}`);
			copyFileSync(paths[index], misnamed);
			const small = { highWaterMark: 1009 };
			const sources = {
				misnamed,
				"a stream": { name: "x", data: createReadStream(misnamed, small) },
				bytes: { name: "x", data: readFileSync(misnamed) },
			};
			for (const [kind, source] of Object.entries(sources)) {
				const [{ name, ...found }] = await goldenOf(source);
				assert.deepEqual(found, expected, `${file} as ${kind}`);
			}
		}
	});
}

const skip = recordings.length === 0;

test("importTraces takes options for recorded logs as the specification says", {
	skip,
}, async () => {
	const { paths, golden } = recordings.find(({ name }) => name === "atif");
	const files = golden.map(({ file }) => file);
	const confidence = "logprobs";
	const skipped = await goldenOf(paths, { assumeSuccess: "skip", confidence });
	assert.deepEqual(
		skipped.map(({ traces, skipped }, index) => [files[index], traces.length, skipped]),
		goldenOptions["assumeSuccess skip, confidence logprobs"],
	);
	const failed = await goldenOf(paths, { assumeSuccess: false, confidence });
	assert.deepEqual(
		failed.map(({ traces }, index) => [
			files[index],
			traces.map(({ success, successFrom, confidence, confidenceFrom }) => [
				success,
				successFrom,
				confidence,
				confidenceFrom,
			]),
		]),
		goldenOptions["assumeSuccess false, confidence logprobs"],
	);
});

test("imported traces score as in Rust, bit for bit, with the same text", { skip }, async () => {
	const found = new Map();
	for (const path of recordings.flatMap(({ paths }) => paths))
		for await (const { trace } of importTraces(path, options)) {
			if (trace === undefined) continue;
			const contents = trace.steps.map(({ content }) => content ?? "");
			const text = [trace.task.objective, ...contents].join(" ");
			const { score } = scoreWith(trace, { maxSimilarity: 0.25 });
			found.set(trace.id, [sha(text), score]);
		}
	// crates/import/tests/importer/trace.rs expects the same file.
	const file = new URL("../fixtures/imported-scores.json", import.meta.url);
	const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
	assert.deepEqual(sorted, JSON.parse(readFileSync(file, "utf8")));
});

/** One scripted run, in the forms in which frameworks keep messages. Forms with the same texts share a line. */
const SAME_TEXTS = [
	["ai-sdk/4-model", "ai-sdk/4-stored", "ai-sdk/4-ui"],
	["ai-sdk/6-model", "ai-sdk/6-ui", "ai-sdk/7-ui"],
	["ai-sdk/7-model"],
	["mastra/dbmessages", "mastra/memory", "mastra/model", "mastra/uimessages"],
	["openai-agents/history"],
	["langchain/stored", "langchain/tojson"],
];

/** Forms that have only the first turn of the user. */
const FIRST_TURN = [
	["ai-sdk/5-model", "ai-sdk/5-ui"],
	["ai-sdk/6-spans"],
	["ai-sdk/7-spans"],
	["mastra/generate"],
];

const given = { success: true, createdAt: "2026-01-01" };

/** The score of a trace, measured against one other trace. */
async function scoreOf(trace, other) {
	const scorer = new Scorer();
	await scorer.remember(other);
	return scorer.evaluateValue(trace);
}

test("one run gives the same trace in every framework", { skip }, async () => {
	const forms = [...SAME_TEXTS, ...FIRST_TURN].flat();
	const found = {};
	for (const { name, paths } of recordings)
		for (const path of paths) {
			const form = `${name}/${basename(path, "-trip.json")}`;
			if (!forms.includes(form)) continue;
			const [{ trace, provenance }, ...others] = await all(importTraces(path, given));
			assert.deepEqual(others, [], form);
			found[form] = trace;
			if (provenance.format === "otel") continue;
			const messages = JSON.parse(readFileSync(path, "utf8"));
			assert.deepEqual(await fromMessages(messages, given), trace, form);
		}
	assert.deepEqual(Object.keys(found).sort(), forms.sort());

	const shape = (form) => found[form].steps.map(({ type, tool }) => [type, tool?.name ?? null]);
	const expected = shape("ai-sdk/6-model");
	assert.deepEqual(
		expected.filter(([, tool]) => tool),
		[
			["tool_call", "weather"],
			["tool_call", "weather"],
			["error_recovery", "weather"],
			["tool_call", "findTables"],
			["tool_call", "findTables"],
			["tool_call", "bookTable"],
		],
	);
	for (const form of SAME_TEXTS.flat()) assert.deepEqual(shape(form), expected, form);
	for (const form of FIRST_TURN.flat()) assert.deepEqual(shape(form), expected.slice(0, -2), form);

	const other = await fromMessages(conversation("Is it warmer in Rome?"), given);
	const ids = new Set();
	for (const [first, ...forms] of [...SAME_TEXTS, ...FIRST_TURN]) {
		const { metadata, ...same } = found[first];
		const score = await scoreOf(found[first], other);
		ids.add(same.id);
		for (const form of forms) {
			const { metadata, ...trace } = found[form];
			assert.deepEqual(trace, same, form);
			assert.equal(await scoreOf(found[form], other), score, form);
		}
	}
	assert.equal(ids.size, SAME_TEXTS.length + FIRST_TURN.length);
});

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("LOG_FORMATS cannot be changed, and is what its declaration says", () => {
	assert.ok(Object.isFrozen(LOG_FORMATS));
	const [, list] = /LOG_FORMATS: readonly \[([^\]]*)\]/.exec(read("lib/types/logs.d.ts"));
	assert.deepEqual(
		LOG_FORMATS,
		[...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name),
	);
});

test("LOG_FORMATS has the formats in the table of docs/importers.md", () => {
	const [, formats] = read("docs/importers.md").split("\n## Formats\n");
	const [table] = formats.split("\n## ");
	const names = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
	assert.deepEqual(names.sort(), [...LOG_FORMATS].sort());
});
