import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { fromMessages, importTraces } from "@knowledgepulse/scoring/logs";
import { all, conversation, recordings } from "../support/imports.mjs";

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

const success = true;

/** The traces of the run by the names of its forms. */
async function traces() {
	const entries = recordings.flatMap(({ name, paths }) =>
		paths
			.filter((path) => path.endsWith("-trip.json"))
			.map((path) => [`${name}/${basename(path, "-trip.json")}`, path]),
	);
	const forms = [...SAME_TEXTS, ...FIRST_TURN].flat();
	const found = {};
	for (const [form, path] of entries.filter(([form]) => forms.includes(form))) {
		const [{ trace, provenance }, ...others] = await all(importTraces(path, { success }));
		assert.deepEqual(others, [], form);
		found[form] = trace;
		if (provenance.format === "otel") continue;
		const messages = JSON.parse(readFileSync(path, "utf8"));
		assert.deepEqual(await fromMessages(messages, { success }), trace, form);
	}
	assert.deepEqual(Object.keys(found).sort(), forms.sort());
	return found;
}

/** The score of a trace, measured against one other trace. */
async function scoreOf(trace, other) {
	const scorer = new Scorer();
	await scorer.remember(other);
	return scorer.evaluateValue(trace);
}

const skip = recordings.length === 0;

test("one run gives one trace, whatever framework keeps it", { skip }, async () => {
	const found = await traces();
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

	const other = await fromMessages(conversation("Is it warmer in Rome?"), { success });
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
