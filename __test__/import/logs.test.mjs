/** Logs of every format, and the documentation of the formats. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
	copyFileSync,
	createReadStream,
	existsSync,
	readdirSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { test } from "node:test";
import { Scorer, scoreWith } from "@knowledgepulse/scoring";
import { fromMessages, importTraces, LOG_FORMATS } from "@knowledgepulse/scoring/logs";
import { filesOfFormats } from "../../tools/formats.mjs";
import { all, assumed, conversation } from "../support/imports.mjs";
import { logRoots, readLogs, written } from "../support/logs.mjs";
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
	...(content !== undefined && { content }),
	...(input !== undefined && { input }),
});

const goldenTrace = ({ trace, provenance }) => ({
	id: trace.id,
	format: provenance.format,
	key: provenance.key,
	objective: trace.task.objective,
	objectiveFrom: provenance.objectiveFrom,
	success: trace.metadata.success,
	successFrom: provenance.successFrom,
	confidence: trace.outcome.confidence,
	confidenceFrom: provenance.confidenceFrom,
	createdAt: trace.metadata.created_at,
	createdAtFrom: provenance.createdAtFrom,
	domain: trace.metadata.task_domain,
	summary: trace.outcome.result_summary,
	steps: trace.steps.map(goldenStep),
	skipped: provenance.skipped,
	...(provenance.facts && { facts: provenance.facts }),
	scored: scored(trace),
});

/** The digest of the text that is embedded, and the score. */
function scored(trace) {
	const text = [trace.task.objective, ...trace.steps.map(({ content }) => content ?? "")].join(" ");
	return [sha(text), scoreWith(trace, { maxSimilarity: 0.25 }).score];
}

/** A step as the golden files of recorded logs have it. */
const digestedStep = ({ content, input, ...step }) => ({
	...step,
	...(content !== undefined && { contentSha: sha(content), contentChars: [...content].length }),
	...(input !== undefined && { inputSha: sha(canonical(input)) }),
});

const digested = ({ key, summary, steps, facts, scored, ...trace }) => ({
	...trace,
	summarySha: sha(summary),
	steps: steps.map(digestedStep),
});

/** The results of importing these sources, in the form of the golden files of `root`. */
async function goldenOf(root, sources, changes) {
	const imported = importTraces(sources, { ...options, ...changes });
	const items = await all(imported);
	return imported.report.inputs.map(({ name, formats, traces, skipped, errors }) => {
		const own = items.filter(({ provenance }) => provenance?.source.name === name);
		assert.equal(own.length, traces, name);
		const found = own.map(goldenTrace);
		// The golden files of recorded logs do not say in which run all calls are unknown.
		const lineOf = ({ line, code }) =>
			root !== written && code === "UNKNOWN_RECORDS" ? null : line;
		return {
			name,
			formats,
			traces: root === written ? found : found.map(digested),
			skipped,
			errors: errors.map((error) => ({
				line: lineOf(error),
				code: error.code,
				// Without the name of the log.
				...(root === written && { message: error.message.slice(name.length) }),
			})),
		};
	});
}

/** The files in a folder of the written logs, with the folder. */
const filesOf = (name) =>
	readdirSync(join(written, name), { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => relative(written, join(entry.parentPath ?? entry.path, entry.name)))
		.sort();

const write = (file, golden) =>
	writeFileSync(join(written, "golden", file), `${JSON.stringify(golden, null, "\t")}\n`);

if (process.env.KP_UPDATE)
	for (const name of readdirSync(written).filter((name) => !/golden|\./.test(name))) {
		const file = `${name}.json`;
		const path = join(written, "golden", file);
		const known = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [];
		const files = filesOf(name);
		const found = await goldenOf(
			written,
			files.map((file) => join(written, file)),
		);
		const shows = (file) => known.find((log) => log.file === file)?.shows ?? "";
		write(
			file,
			found.map(({ name, ...results }, index) => ({
				file: files[index],
				shows: shows(files[index]),
				...results,
			})),
		);
	}

const logs = readLogs();

test("every format has written logs, and each of them a golden result", () => {
	const own = logs.filter(({ root }) => root === written);
	assert.deepEqual(own.map(({ name }) => name).sort(), [...LOG_FORMATS].sort());
	for (const { name, golden } of own) {
		assert.deepEqual(
			golden.map(({ file }) => file),
			filesOf(name),
		);
		assert.ok(golden.some(({ formats }) => formats.includes(name)));
		for (const { file, shows } of golden)
			assert.ok(shows, `${file}: say in "shows" what it is for`);
	}
});

for (const { root, name, paths, golden } of logs) {
	const kind = root === written ? "written" : "recorded";
	test(`importTraces makes of ${kind} ${name} logs what the specification says, by their content alone`, async (t) => {
		const together = golden.map(({ file, shows, ...expected }, index) => ({
			name: paths[index],
			...expected,
		}));
		assert.deepEqual(await goldenOf(root, paths), together);
		// Tests of crates/import cut all logs anywhere.
		const [{ name: path, ...expected }] = together;
		const misnamed = join(temporaryFolder(t), path.endsWith("l") ? "log.json" : "log.txt");
		copyFileSync(path, misnamed);
		const sources = {
			misnamed,
			"a stream": { name: "x", data: createReadStream(misnamed, { highWaterMark: 1009 }) },
			bytes: { name: "x", data: readFileSync(misnamed) },
		};
		// Streams do not wait for a line that continues a conversation.
		if (expected.skipped.continued) delete sources["a stream"];
		for (const [kind, source] of Object.entries(sources)) {
			const [{ name, ...found }] = await goldenOf(root, source);
			assert.deepEqual(found, expected, kind);
		}
	});
}

for (const { root, paths, golden } of logs.filter(({ name }) => name === "atif")) {
	const kind = root === written ? "written" : "recorded";
	test(`importTraces takes options for ${kind} logs as the specification says`, async () => {
		const files = golden.map(({ file }) => file);
		const confidence = "logprobs";
		const skipped = await goldenOf(root, paths, { assumeSuccess: "skip", confidence });
		const failed = await goldenOf(root, paths, { assumeSuccess: false, confidence });
		const found = {
			"assumeSuccess skip, confidence logprobs": skipped.map(({ traces, skipped }, index) => [
				files[index],
				traces.length,
				skipped,
			]),
			"assumeSuccess false, confidence logprobs": failed.map(({ traces }, index) => [
				files[index],
				traces.map(({ success, successFrom, confidence, confidenceFrom }) => [
					success,
					successFrom,
					confidence,
					confidenceFrom,
				]),
			]),
		};
		if (root === written) {
			// Streams, which lack the prompt.
			const streams = ["codex/exec.jsonl", "opencode/run.jsonl"].map((file) => join(root, file));
			const given = await goldenOf(root, streams, { objective: "Tidy" });
			found["objective Tidy"] = given.map(({ name, ...results }) => results);
			if (process.env.KP_UPDATE) write("options.json", found);
		}
		const file = join(root, "golden/options.json");
		assert.deepEqual(found, JSON.parse(readFileSync(file, "utf8")));
	});
}

test("evaluateLogs returns the facts of written logs", async () => {
	const [{ file, traces }] = logs.find(({ name }) => name === "claude-code").golden;
	const rows = await all(new Scorer().evaluateLogs(join(written, file), options));
	assert.deepEqual(
		rows.map((row) => row.facts),
		traces.map(({ facts }) => facts),
	);
});

const [, , , later] = logRoots;
if (existsSync(later))
	test("importTraces takes objectives for recorded logs as the specification says", async () => {
		const golden = JSON.parse(readFileSync(join(later, "golden/options.json"), "utf8"));
		for (const { file, options, ...expected } of golden) {
			const [{ name, ...found }] = await goldenOf(later, join(later, file), options);
			assert.deepEqual(found, expected, file);
		}
	});

/**
 * Runs in the forms in which frameworks keep messages. Forms with the same texts share a line; the others have
 * only the first turn of the user.
 */
const RUNS = {
	written: {
		sameTexts: [
			["messages/one-run-model", "messages/one-run-ui", "messages/one-run-langchain"],
			["messages/one-run-items"],
		],
		partial: [],
		tools: [
			["tool_call", "tables"],
			["error_recovery", "tables"],
		],
	},
	recorded: {
		sameTexts: [
			["ai-sdk/6-model", "ai-sdk/6-ui", "ai-sdk/7-ui"],
			["ai-sdk/4-model", "ai-sdk/4-stored", "ai-sdk/4-ui"],
			["ai-sdk/7-model"],
			["mastra/dbmessages", "mastra/memory", "mastra/model", "mastra/uimessages"],
			["openai-agents/history"],
			["langchain/stored", "langchain/tojson"],
		],
		partial: [
			["ai-sdk/5-model", "ai-sdk/5-ui"],
			["ai-sdk/6-spans"],
			["ai-sdk/7-spans"],
			["mastra/generate"],
		],
		tools: [
			["tool_call", "weather"],
			["tool_call", "weather"],
			["error_recovery", "weather"],
			["tool_call", "findTables"],
			["tool_call", "findTables"],
			["tool_call", "bookTable"],
		],
	},
};

const given = { success: true, createdAt: "2026-01-01" };

/** The score of a trace, measured against one other trace. */
async function scoreOf(trace, other) {
	const scorer = new Scorer();
	await scorer.remember(other);
	return scorer.evaluateValue(trace);
}

for (const [kind, { sameTexts, partial, tools }] of Object.entries(RUNS)) {
	const own = logs.filter(({ root }) => (root === written) === (kind === "written"));
	if (own.length === 0) continue;
	test(`one ${kind} run gives the same trace in every framework`, async () => {
		const forms = [...sameTexts, ...partial].flat();
		const found = {};
		for (const { name, paths } of own)
			for (const path of paths) {
				const form = `${name}/${basename(path, ".json").replace(/-trip$/, "")}`;
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
		const expected = shape(sameTexts[0][0]);
		assert.deepEqual(
			expected.filter(([, tool]) => tool),
			tools,
		);
		for (const form of sameTexts.flat()) assert.deepEqual(shape(form), expected, form);
		for (const form of partial.flat()) assert.deepEqual(shape(form), expected.slice(0, -2), form);

		const other = await fromMessages(conversation("Is it warmer in Rome?"), given);
		const ids = new Set();
		for (const [first, ...forms] of [...sameTexts, ...partial]) {
			const { metadata, ...same } = found[first];
			const score = await scoreOf(found[first], other);
			ids.add(same.id);
			for (const form of forms) {
				const { metadata, ...trace } = found[form];
				assert.deepEqual(trace, same, form);
				assert.equal(await scoreOf(found[form], other), score, form);
			}
		}
		assert.equal(ids.size, sameTexts.length + partial.length);
	});
}

/** The first conversation of a log: a line with an array, or all values. Undefined if a line is not JSON. */
function conversationIn(path) {
	const text = readFileSync(path, "utf8");
	for (const json of [text, `[${text.trim().split("\n")}]`])
		try {
			const values = [JSON.parse(json)].flat();
			return Array.isArray(values[0]) ? values[0] : values;
		} catch {}
	return undefined;
}

test("fromMessages takes what importTraces takes, from a file and in memory", async () => {
	const collecting = { ...given, errors: "collect" };
	for (const { paths, golden } of logs)
		for (const [index, { file, formats }] of golden.entries()) {
			const values = conversationIn(paths[index]);
			if (String(formats) !== "messages" || values === undefined) continue;
			const [item] = await all(importTraces(paths[index], collecting));
			const [same] = await all(importTraces(values, collecting));
			assert.deepEqual(same?.trace, item?.trace, file);
			if (item?.trace) assert.deepEqual(await fromMessages(values, collecting), item.trace, file);
			else
				await assert.rejects(fromMessages(values, given), {
					code: item?.error.code ?? "NO_TRACE",
				});
		}
});

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("LOG_FORMATS cannot be changed, and is what types and documentation say", () => {
	assert.ok(Object.isFrozen(LOG_FORMATS));
	for (const [path, text] of Object.entries(filesOfFormats())) assert.equal(read(path), text, path);
	const [, list] = /LOG_FORMATS: readonly \[([^\]]*)\]/.exec(read("lib/types/logs.d.ts"));
	assert.deepEqual(LOG_FORMATS, list.match(/[\w-]+/g));
});
