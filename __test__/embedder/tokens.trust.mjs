/** Texts of all of Unicode, and long ones: the tokens of the engine and of transformers.js. */

import { test } from "node:test";
import { seed } from "../support/draws.mjs";
import { plainFolder, referenceTokenizer } from "../support/own-models.mjs";
import { repeats } from "../support/repeats.mjs";
import { comparable } from "../support/texts.mjs";
import { assertSameTokens } from "../support/tokens.mjs";
import { codePointTexts, generatedTexts, longLines } from "./unicode-texts.mjs";

/** Texts for one run of the tokenizer; long ones are fewer, because all are in memory. */
const AT_ONCE = 4000;
const LINES_AT_ONCE = 16;

const SHARE = Math.min(1, repeats(1) / 25);

const KINDS = [
	["generated texts", () => generatedTexts(seed, repeats(4000)), AT_ONCE],
	["texts around code points", () => codePointTexts(seed, SHARE), AT_ONCE],
	["lines of a megabyte", () => longLines(seed, repeats(3)), LINES_AT_ONCE],
];

function* slices(texts, length) {
	let slice = [];
	for (const text of texts) {
		slice.push(comparable(text));
		if (slice.length === length) {
			yield slice;
			slice = [];
		}
	}
	if (slice.length > 0) yield slice;
}

for (const [kind, texts, atOnce] of KINDS)
	test(`the tokenizer gives ${kind} the tokens of transformers.js`, async (t) => {
		const tokenizer = await referenceTokenizer(plainFolder);
		let count = 0;
		for (const slice of slices(texts(), atOnce)) {
			assertSameTokens(slice, tokenizer);
			count += slice.length;
		}
		t.diagnostic(`${count} texts`);
	});
