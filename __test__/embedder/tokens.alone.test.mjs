import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BertTokenizer } from "@huggingface/transformers";
import { repeats } from "../support/repeats.mjs";
import { assertTokens } from "../support/tokens.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

const model = `${root}benchmark/.model/Xenova/all-MiniLM-L6-v2/`;

const json = (name) => JSON.parse(readFileSync(model + name, "utf8"));

const TEXTS = repeats(300);

test(`the tokenizer gives ${TEXTS} generated texts the tokens of transformers.js`, () => {
	const files = ["tokenizer.json", "tokenizer_config.json"];
	assertTokens(TEXTS, new BertTokenizer(...files.map(json)));
});
