import { test } from "node:test";
import { repeats } from "../support/draws.mjs";
import { modelFolder, plainFolder, referenceTokenizer } from "../support/own-models.mjs";
import { assertTokens } from "../support/tokens.mjs";

const TEXTS = repeats(100);

test(`the built-in tokenizer gives ${TEXTS} generated texts the tokens of transformers.js`, async () =>
	assertTokens(TEXTS, await referenceTokenizer(plainFolder)));

for (const name of ["bert", "cased", "mpnet", "xlm-roberta", "roberta", "long"])
	test(`the tokenizer of ${name} gives ${TEXTS} generated texts the tokens of transformers.js`, async () => {
		const folder = modelFolder(name);
		assertTokens(TEXTS, await referenceTokenizer(folder), folder);
	});
