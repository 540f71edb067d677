import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { _getLocalCache, evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { codeReview } from "../fixtures/runs.mjs";
import { shapes } from "../support/mutations.mjs";
import { assertClose, explainAlone } from "../support/scores.mjs";
import { trace } from "../support/traces.mjs";

const plain = () => structuredClone(codeReview.trace);

const made = {
	...shapes,
	"objects of another realm": (trace) => vm.runInNewContext(`(${JSON.stringify(trace)})`),
	"fields of the wrong type that are not read": (trace) =>
		Object.assign(trace, { id: 5, "@context": null, "@type": [], extra: Symbol("s") }),
};

for (const [name, make] of Object.entries(made)) {
	test(`evaluateValue reads ${name} like plain objects`, async () => {
		assertClose((await explainAlone(plain())).score, codeReview.score, "plain");
		const { novelty, score } = await explainValue(make(plain()));
		assert.ok(novelty.maxSimilarity > 0.999999, `${name}: ${novelty.maxSimilarity}`);
		assertClose(score, codeReview.score - 0.5 * 0.35 + (1 - novelty.maxSimilarity) * 0.35, name);
	});
}

test("evaluateValue ignores changes of the trace after the call", async () => {
	const changed = plain();
	_getLocalCache().clear();
	const scored = evaluateValue(changed);
	changed.metadata.task_domain = "finance";
	changed.metadata.success = false;
	changed.outcome.confidence = 0;
	changed.task.objective = 5;
	changed.steps.length = 0;
	assertClose(await scored, codeReview.score, "score");
	const { novelty } = await explainValue(plain());
	assert.ok(novelty.maxSimilarity > 0.999999, `the text read: ${novelty.maxSimilarity}`);
});

test("evaluateValue reads every field that counts once, and no other", async () => {
	const read = [];
	const watch = (value, place) =>
		new Proxy(value, {
			get(target, key) {
				read.push(place + String(key));
				const inner = target[key];
				return typeof inner === "object" && inner !== null
					? watch(inner, `${place}${String(key)}.`)
					: inner;
			},
		});
	const steps = [
		{
			step_id: 0,
			type: "tool_call",
			content: "x",
			tool: { name: "a", version: 1 },
			input: {},
		},
	];
	await evaluateValue(watch(trace({ steps }), ""));
	const expected = [
		"id",
		"metadata",
		"metadata.success",
		"metadata.task_domain",
		"outcome",
		"outcome.confidence",
	];
	const ofStep = ["content", "tool", "tool.name", "type"].map((key) => `steps.0.${key}`);
	const ofSteps = ["steps", "steps.0", ...ofStep, "steps.length"];
	assert.deepEqual(read.sort(), [...expected, ...ofSteps, "task", "task.objective"].sort());
});

test("evaluateValue takes absent, null and empty content for the same", async () => {
	const contents = [{}, { content: undefined }, { content: null }, { content: "" }];
	const say = (rest) =>
		trace({
			steps: [
				{ type: "thought", ...rest },
				{ type: "observation", content: "Done" },
			],
		});
	const first = await explainAlone(say(contents[0]));
	for (const content of contents) {
		const { dimensions, novelty } = await explainValue(say(content));
		assert.ok(
			novelty.maxSimilarity > 0.999999,
			`${JSON.stringify(content)}: ${novelty.maxSimilarity}`,
		);
		assert.equal(dimensions.complexity, first.dimensions.complexity);
	}
});

test("evaluateValue accepts no steps, and 100,000", async () => {
	assertClose((await explainAlone(trace({ steps: [] }))).score, 0.375, "none");
	const steps = Array.from({ length: 100_000 }, (_, i) => ({
		type: `type ${i}`,
		tool: { name: `tool ${i}` },
	}));
	assertClose((await explainAlone(trace({ steps }))).score, 0.25 + 0.175 + 0.15 + 0.2, "100,000");
});

const ends = {
	ascii: ["a", "b"],
	accent: ["é", "è"],
	chinese: ["漢", "字"],
	emoji: ["😀", "😁"],
	mixed: ["😀", "\ud83d"],
};

for (const [name, [one, other]] of Object.entries(ends)) {
	test(`evaluateValue compares whole strings: ${name}`, async () => {
		const lengths = [0, 1, 100];
		for (const border of [2048, 8192, 32_768]) {
			for (let length = border - 20; length <= border + 3; length++) lengths.push(length);
		}
		for (const length of lengths) {
			for (const filler of ["x", "ü", "字", "😀"]) {
				const start = filler.repeat(length / Buffer.byteLength(filler));
				const steps = [start + one, start + other, start + one].map((type) => ({
					type,
					tool: { name: type },
				}));
				const { dimensions } = await explainValue(trace({ domain: start, steps }));
				const message = `${length} bytes of ${filler}`;
				assert.equal(dimensions.complexity, 2 * 0.125 + (3 / 20) * 0.2, `types: ${message}`);
				assert.equal(dimensions.toolDiversity, 1, `tools: ${message}`);
			}
		}
	});
}

test("evaluateValue reads a lone surrogate as U+FFFD", async () => {
	const rows = [
		["two lone surrogates", ["\ud800", "\udfff"], 1],
		["a lone surrogate and U+FFFD", ["a\ud800", "a\ufffd"], 1],
		["one and two of them", ["\ud800", "\ud800\ud800"], 2],
		["a pair the wrong way round", ["\ude00\ud83d", "\ufffd\ufffd"], 1],
		["a pair", ["\ud83d\ude00", "\ufffd\ufffd"], 2],
	];
	for (const [name, types, distinct] of rows) {
		const { dimensions } = await explainValue(trace({ steps: types.map((type) => ({ type })) }));
		assert.equal(dimensions.complexity, distinct * 0.125 + (2 / 20) * 0.2, name);
	}
});
