import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, evaluateValue, explainValue, status } from "@knowledgepulse/scoring";
import { valueWithoutEmbedder } from "../support/child.mjs";
import { says, trace, words } from "../support/traces.mjs";

/** A trace of one thought, which scores 0.1 however new it is. */
function thought(text, changes) {
	const steps = [{ type: "thought", content: text }];
	return trace({ objective: "", ...changes, steps });
}

const step = (rest) => [{ type: "thought", content: "It rains", ...rest }];

const rows = [
	["plain", step({}), 0.1],
	["empty", step({ content: "" }), 0.1],
	["without content", [{ type: "thought" }], 0.1],
	["longer than the window", step({ content: words(3000, 1) }), 0.1],
	["with no tool", step({ tool: null }), 0.1],
	["with a tool", step({ tool: { name: "a" } }), 0],
	["with a tool without a name", step({ tool: {} }), 0],
	["with a tool with an empty name", step({ tool: { name: "" } }), 0],
];

const others = {
	"as usual": {},
	failed: { success: false },
	"certain, in finance": { domain: "finance", confidence: 1 },
	"doubtful, in code": { domain: "code", confidence: 0 },
};

for (const [name, steps, expected] of rows) {
	test(`evaluateValue gives a single thought ${expected}: ${name}`, async () => {
		for (const [how, changes] of Object.entries(others)) {
			_getLocalCache().clear();
			const value = trace({ ...changes, steps });
			for (const round of ["first", "second"]) {
				const found = await evaluateValue(value);
				assert.ok(Object.is(found, expected), `${how}, ${round}: ${found}`);
				const { score, overrides } = await explainValue(value);
				assert.ok(Object.is(score, expected), `${how}, ${round}: ${score}`);
				assert.equal(overrides[0].name, "single-thought", how);
			}
		}
	});
}

const almost = {
	nothing: [],
	"two thoughts": [...step({}), ...step({})],
	"an observation": [{ type: "observation", content: "It rains" }],
	"a Thought": [{ type: "Thought", content: "It rains" }],
	"a thought and a tool": [...step({}), { type: "tool_call", tool: {} }],
};

for (const [name, steps] of Object.entries(almost)) {
	test(`evaluateValue lets the score of ${name} depend on novelty`, async () => {
		const value = trace({ steps });
		_getLocalCache().clear();
		const first = await evaluateValue(value);
		const second = await evaluateValue(value);
		assert.ok(first > second, `${first}, then ${second}`);
	});
}

test("evaluateValue answers a single thought in its turn", async () => {
	_getLocalCache().clear();
	const settled = [];
	const note = (name, call) => call.then(() => settled.push(name));
	const long = says(words(600, 1));
	await Promise.all([
		note("before", evaluateValue(long)),
		note("thought", evaluateValue(thought("It rains"))),
		note("after", evaluateValue(long)),
	]);
	assert.deepEqual(settled, ["before", "thought", "after"]);
});

test("evaluateValue adds a single thought to the cache before it resolves", async () => {
	_getLocalCache().clear();
	assert.equal(await evaluateValue(thought("The harbour was quiet")), 0.1);
	assert.equal(status().cacheSize, 1);
	const { novelty } = await explainValue(says("The harbour was quiet"));
	assert.ok(novelty.maxSimilarity > 0.999999, String(novelty.maxSimilarity));
});

test("explainValue reports the novelty of a single thought", async () => {
	_getLocalCache().clear();
	const first = await explainValue(thought("It rains"));
	assert.deepEqual(
		[first.score, first.novelty.source, first.dimensions.novelty],
		[0.1, "empty-cache", 0.5],
	);
	const second = await explainValue(thought("It rains"));
	assert.equal(second.score, 0.1);
	assert.ok(second.dimensions.novelty < 1e-6, String(second.dimensions.novelty));
	assert.deepEqual(
		second.overrides.map(({ name, after }) => [name, after]),
		[["single-thought", 0.1]],
	);
});

test("evaluateValue scores single thoughts without an embedder", async () => {
	const found = await valueWithoutEmbedder(
		async ({ scoring, input }) => [
			...(await Promise.all(input.map((trace) => scoring.evaluateValue(trace)))),
			scoring.status().cacheSize,
		],
		{ input: [thought("It rains"), thought("It does not")] },
	);
	assert.deepEqual(found, [0.1, 0.1, 0]);
});
