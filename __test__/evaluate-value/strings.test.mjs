import assert from "node:assert/strict";
import { test } from "node:test";
import { explainValue } from "@knowledgepulse/scoring";
import { trace } from "../support/traces.mjs";

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
