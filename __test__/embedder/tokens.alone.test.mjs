import { test } from "node:test";
import { plainFolder, referenceTokenizer } from "../support/own-models.mjs";
import { repeats } from "../support/repeats.mjs";
import { assertTokens } from "../support/tokens.mjs";

const TEXTS = repeats(300);

test(`the tokenizer gives ${TEXTS} generated texts the tokens of transformers.js`, async () =>
	assertTokens(TEXTS, await referenceTokenizer(plainFolder)));
