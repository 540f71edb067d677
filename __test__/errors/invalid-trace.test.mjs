import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { trace } from "../support/traces.mjs";

/** A valid trace with `value` at `path`, such as `steps[1].tool.name`, or without that field. */
function traceWith(path, ...value) {
	const whole = {
		trace: trace({
			steps: ["a", "b"].map((name) => ({ type: "tool_call", content: name, tool: { name } })),
		}),
	};
	const keys = path === "trace" ? ["trace"] : ["trace", ...path.split(/[.[\]]+/).filter(Boolean)];
	const last = keys.pop();
	const owner = keys.reduce((object, key) => object[key], whole);
	if (value.length === 0) delete owner[last];
	else owner[last] = value[0];
	return whole.trace;
}

/** Values that are invalid anywhere in a trace, by their description in messages. */
const STRANGE = [
	["a symbol", Symbol("s")],
	["a function", () => {}],
	["a function", class {}],
	["42n", 42n],
	[`1${"0".repeat(39)}…n`, 10n ** 100_000n],
];

const PRIMITIVE = [
	["undefined", undefined],
	["null", null],
	["true", true],
	["false", false],
	["42", 42],
	["-1.5", -1.5],
	["NaN", Number.NaN],
	["Infinity", Number.POSITIVE_INFINITY],
	["1e+21", 1e21],
	['"text"', "text"],
	['""', ""],
];

const OBJECTS = [
	["an object", {}],
	["an object", new String("text")],
	["an object", new Map()],
	["an object", new Float32Array(2)],
	["an array", []],
	["an array", new Proxy([1], {})],
];

const SCALARS = [...STRANGE, ...PRIMITIVE];

const without = (...unwanted) =>
	[...SCALARS, ...OBJECTS].filter(([found]) => !unwanted.includes(found));

const noObject = ["an object", SCALARS];

const noString = ["a string", without('"text"', '""')];

const expectations = {
	trace: noObject,
	metadata: noObject,
	task: noObject,
	outcome: noObject,
	"task.objective": noString,
	"metadata.task_domain": noString,
	"metadata.success": ["a boolean", without("true", "false")],
	"outcome.confidence": [
		"a finite number in [0, 1]",
		[
			...without(),
			["-5e-324", -5e-324],
			["1.0000000000000002", 1 + Number.EPSILON],
			["-Infinity", Number.NEGATIVE_INFINITY],
			['"0.5"', "0.5"],
		],
	],
	steps: ["an array", [...without("an array"), ["an object", { length: 0 }]]],
	"steps[0]": noObject,
	"steps[1]": noObject,
	"steps[0].type": noString,
	"steps[1].type": noString,
	"steps[1].content": ["a string, null or nothing", without('"text"', '""', "null", "undefined")],
	"steps[1].tool": [
		"an object, null or nothing",
		SCALARS.filter(([found]) => found !== "null" && found !== "undefined"),
	],
	id: [
		"a string without lone surrogates",
		[
			['"\ufffd"', "\ud800"],
			['"a\ufffd"', "a\udc00"],
		],
	],
	"steps[1].tool.name": ["a string", without('"text"', '""', "undefined")],
};

for (const [path, [expected, values]] of Object.entries(expectations)) {
	test(`evaluateValue and explainValue reject traces without a valid ${path}`, async () => {
		for (const [found, value] of values) {
			const message = `${path}: expected ${expected}, got ${found}`;
			const bad = [traceWith(path, value)];
			if (value === undefined) bad.push(traceWith(path));
			for (const trace of bad)
				for (const score of [evaluateValue, explainValue])
					await assert.rejects(score(trace), {
						name: "InvalidTraceError",
						code: "INVALID_TRACE",
						path,
						message,
					});
		}
	});
}

test("evaluateValue accepts a step that is an array with a type, and a tool that is one", async () => {
	for (const value of [
		traceWith("steps[0]", Object.assign([], { type: "thought" })),
		traceWith("steps[0].tool", []),
	]) {
		const score = await evaluateValue(value);
		assert.ok(score >= 0 && score <= 1, String(score));
	}
});

test("evaluateValue names what makes a trace of messages or of a promise", async () => {
	const messages = [{ role: "user", content: "Hello" }];
	for (const [given, message] of [
		[messages, "trace: expected an object (see fromMessages), got an array"],
		[Promise.resolve(trace()), "trace: expected an object (await it), got a promise"],
	])
		await assert.rejects(evaluateValue(given), { code: "INVALID_TRACE", path: "trace", message });
});
