import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, explainValue } from "@knowledgepulse/scoring";
import { assertClose, explainAlone } from "../support/reports.mjs";
import { trace } from "../support/traces.mjs";

// In the default profile, with novelty 0.5.

const step = (type, tool) => ({ type, content: "x", tool });

const a = { name: "a" };

const b = { name: "b" };

const recovery = step("error_recovery");

const rows = [
	["a single thought", { steps: [step("thought")] }, 0.1, ["single-thought"]],
	[
		"a single thought with a tool",
		{ steps: [step("thought", a)] },
		0,
		["single-thought", "low-tool-diversity"],
	],
	[
		"a single thought of a failed task",
		{ success: false, steps: [step("thought")] },
		0.1,
		["single-thought"],
	],
	["a single observation", { steps: [step("observation")] }, 0.40875, []],
	["two thoughts", { steps: [step("thought"), step("thought")] }, 0.41125, []],
	["two recoveries", { steps: [recovery, recovery] }, 0.48625, []],
	["three recoveries", { steps: [recovery, recovery, recovery] }, 0.58875, ["error-recovery"]],
	[
		"three recoveries in vain",
		{ success: false, steps: [recovery, recovery, recovery] },
		0.34875,
		[],
	],
	[
		"one tool",
		{ steps: [step("tool_call", a), step("observation")] },
		0.4925,
		["low-tool-diversity"],
	],
	[
		"one tool twice",
		{ steps: [step("tool_call", a), step("tool_call", { ...a })] },
		0.46125,
		["low-tool-diversity"],
	],
	["two tools", { steps: [step("tool_call", a), step("tool_call", b)] }, 0.56125, []],
	[
		"two nameless tools",
		{
			steps: [step("tool_call", {}), step("tool_call", { name: undefined })],
		},
		0.46125,
		["low-tool-diversity"],
	],
	[
		"a named tool and a nameless one",
		{ steps: [step("tool_call", a), step("tool_call", {})] },
		0.56125,
		[],
	],
	[
		"a nameless tool and the empty name",
		{ steps: [step("tool_call", { name: "" }), step("tool_call", {})] },
		0.56125,
		[],
	],
	[
		"tools that are null",
		{ steps: [step("tool_call", null), step("tool_call", null)] },
		0.41125,
		[],
	],
	[
		"three recoveries with one tool",
		{ steps: Array(3).fill(step("error_recovery", a)) },
		0.63875,
		["error-recovery", "low-tool-diversity"],
	],
];

for (const [name, parts, score, overrides] of rows) {
	test(`evaluateValue applies the overrides to ${name}`, async () => {
		const report = await explainAlone(trace(parts));
		assertClose(report.score, score, name);
		assert.deepEqual(
			report.overrides.map((override) => override.name),
			overrides,
		);
		for (const [index, { after }] of report.overrides.entries()) {
			assert.equal(after, report.overrides[index + 1]?.before ?? report.score);
		}
	});
}

test("evaluateValue gives no score below 0", async () => {
	const steps = Array(40).fill(step("observation"));
	const poor = trace({
		domain: "medical",
		confidence: 0,
		steps: [...steps, step("observation", a)],
	});
	await explainAlone(poor);
	const { score, overrides } = await explainValue(poor);
	assert.equal(score, 0);
	assert.ok(overrides[0].before > 0 && overrides[0].before < 0.1, String(overrides[0].before));
});

test("evaluateValue gives no score above 1", async () => {
	const types = ["thought", "tool_call", "observation", "error_recovery"];
	const steps = Array.from({ length: 20 }, (_, i) => step(types[i % 4], { name: `tool ${i}` }));
	_getLocalCache().clear();
	_getLocalCache().add(new Float32Array(384));
	const { score, dimensions, overrides } = await explainValue(trace({ confidence: 1, steps }));
	assert.deepEqual(dimensions, {
		complexity: 1,
		novelty: 1,
		toolDiversity: 1,
		outcomeConfidence: 1,
	});
	assert.deepEqual([score, overrides.length, overrides[0].after], [1, 1, 1]);
});
