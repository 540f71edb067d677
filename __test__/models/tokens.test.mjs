import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { modelFolder, referenceTokenizer } from "../support/own-models.mjs";
import { anyText } from "../support/texts.mjs";
import { engineTokens } from "../support/tokens.mjs";

const MAX_TOKENS = 512;
const TEXTS = 10_000;

for (const name of ["bert", "cased", "mpnet", "xlm-roberta", "roberta", "long"])
	test(`tokens of ${name} for ${TEXTS} generated texts are those of transformers.js`, async () => {
		const seed = fc.sample(fc.nat(), 1)[0];
		// The engine replaces lone surrogates when it reads a text.
		const sample = fc
			.sample(anyText, { numRuns: TEXTS, seed })
			.map((text) => text.toWellFormed());
		const found = engineTokens(sample, modelFolder(name));
		const tokenizer = await referenceTokenizer(modelFolder(name));
		sample.forEach((text, index) => {
			const expected = tokenizer.encode(text).slice(0, MAX_TOKENS);
			assert.equal(
				JSON.stringify(found[index]),
				JSON.stringify(expected),
				`seed ${seed}, text ${index}: ${JSON.stringify(text)}`,
			);
		});
	});
