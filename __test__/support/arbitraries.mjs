/** Generated traces, with many edge cases. */

import fc from "fast-check";

const LONE = ["\ud800", "\udfff", "a\ud83d", "\udc00b", "\ufffd", "a\ufffd", "\ufffdb"];

const SHORT = ["", " ", "a", "A", "constructor", "__proto__", "é", "e\u0301", "\0", "😀"];

const oddString = fc.oneof(
	fc.constantFrom(...SHORT, ...LONE),
	fc.string({ unit: "binary", maxLength: 12 }),
	// Long strings that differ only at the end.
	fc
		.tuple(
			fc.constantFrom(2040, 2047, 2048, 8191),
			fc.constantFrom("a", "b", "é", "漢", "😀", "\ud800"),
		)
		.map(([length, end]) => "x".repeat(length) + end),
);

const type = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.constantFrom("thought", "tool_call", "observation", "error_recovery"),
	},
	{ weight: 1, arbitrary: fc.constantFrom("Thought", "thought ", "error_recovery\0", "") },
	{ weight: 1, arbitrary: oddString },
);

const tool = fc.oneof(
	fc.constantFrom(undefined, null),
	fc.constantFrom({ name: "a" }, { name: "b" }, { name: "c" }),
	fc.constantFrom({}, { name: undefined }, { name: "" }, { name: "undefined" }),
	fc.record({ name: oddString }),
);

const step = fc.record(
	{
		step_id: fc.integer(),
		type,
		content: fc.oneof(fc.constantFrom(null, undefined, "", "text"), oddString),
		tool,
		input: fc.constantFrom({ deep: [1, 2] }, "input", null),
	},
	{ requiredKeys: ["type"] },
);

const steps = fc.oneof(
	{ weight: 4, arbitrary: fc.array(step, { maxLength: 8 }) },
	{ weight: 1, arbitrary: fc.array(step, { minLength: 1, maxLength: 1 }) },
	{ weight: 1, arbitrary: fc.array(step, { maxLength: 60, size: "max" }) },
	// Many similar steps, so that the overrides apply.
	fc
		.tuple(fc.constantFrom("thought", "observation", "error_recovery"), tool, fc.nat({ max: 60 }))
		.map(([type, tool, length]) => Array.from({ length }, () => ({ type, tool }))),
);

/** A domain, often one that has a profile. */
export const domain = fc.oneof(
	fc.constantFrom("default", "finance", "code", "medical", "customer_service"),
	fc.constantFrom("constructor", "__proto__", "hasOwnProperty", "Code", "finance ", ""),
	oddString,
);

const confidence = fc.oneof(
	fc.constantFrom(0, -0, 1, 5e-324, 1.5e-323, 2 ** -52, 1 - 2 ** -53, 0.1, 0.3),
	fc.double({ min: 0, max: 1, noNaN: true }),
);

/** A valid trace. */
export const anyTrace = fc.record({
	metadata: fc.record({ task_domain: domain, success: fc.boolean() }),
	task: fc.record({ objective: oddString }),
	steps,
	outcome: fc.record({ confidence }),
});
