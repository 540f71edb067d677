import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, explainValue } from "@knowledgepulse/scoring";
import { says, trace, words } from "../support/traces.mjs";

/** The length of the long texts, in UTF-16 code units. */
const LONG = 10_000_000;

/** A length that the text buffer keeps of any text. */
const KEPT = 600_000;

/** `text` over and over, `length` code units of it. */
const fill = (text, length = LONG) => text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** The similarity of two traces, in [-1, 1]. */
async function similarity(one, other) {
	_getLocalCache().clear();
	await explainValue(one);
	return (await explainValue(other)).novelty.maxSimilarity;
}

const prose = words(4000, 7);

/**
 * A long text, another text with the same window of 512 tokens, and one with another window.
 */
const rows = {
	"control characters inside a word": [
		`${fill("\0", KEPT)}window${fill("\0", KEPT)}s ${prose}`,
		`windows ${prose}`,
		`window s ${prose}`,
	],
	"lone surrogates": [fill("\ud83d"), "", "surrogate"],
	"pairs the wrong way round": [fill("\ude00\ud83d "), "", "surrogate"],
};

for (const [name, [long, same, different]] of Object.entries(rows)) {
	test(`evaluateValue reads the window of ${long.length.toLocaleString("en")} characters: ${name}`, async () => {
		const alike = await similarity(says(same), says(long));
		assert.ok(alike > 0.9999, `${name}: similarity ${alike} to the same text`);
		const unlike = await similarity(says(different), says(same));
		assert.ok(unlike < 0.9999, `${name}: similarity ${unlike} to another text`);
	});
}

test("evaluateValue reads the window of very many steps", async () => {
	const contents = prose.split(" ");
	const steps = Array.from({ length: 100_000 }, (_, i) => ({
		type: "thought",
		content: contents[i % contents.length],
	}));
	const alike = await similarity(trace({ objective: "", steps }), says(`${prose} ${prose}`));
	assert.ok(alike > 0.9999, String(alike));
});

test("evaluateValue reads a string that was concatenated from many", async () => {
	// V8 stores such a string as a tree.
	let rope = "";
	for (const word of prose.split(" ")) rope += `${word} `;
	while (rope.length < LONG) rope += rope;
	const alike = await similarity(says(prose), says(rope));
	assert.ok(alike > 0.9999, String(alike));
});
