import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BertTokenizer } from "@huggingface/transformers";
import fc from "fast-check";
import { anyText } from "../support/texts.mjs";
import { engineTokens } from "../support/tokens.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

const model = `${root}benchmark/.model/Xenova/all-MiniLM-L6-v2/`;

const json = (name) => JSON.parse(readFileSync(model + name, "utf8"));

const MAX_TOKENS = 512;

const TEXTS = 10_000;

test(`the tokenizer gives ${TEXTS} generated texts the tokens of transformers.js`, () => {
	const seed = fc.sample(fc.nat(), 1)[0];
	const sample = fc.sample(anyText, { numRuns: TEXTS, seed });
	const found = engineTokens(sample);
	const tokenizer = new BertTokenizer(
		json("tokenizer.json"),
		json("tokenizer_config.json"),
	);
	sample.forEach((text, index) => {
		// With the truncation of the SDK instead of that in tokenizer.json.
		const expected = tokenizer.encode(text).slice(0, MAX_TOKENS);
		assert.equal(
			JSON.stringify(found[index]),
			JSON.stringify(expected),
			`seed ${seed}, text ${index}: ${JSON.stringify(text)}`,
		);
	});
});
