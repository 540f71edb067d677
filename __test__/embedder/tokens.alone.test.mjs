/** Compares the tokens of the engine with those of transformers.js. Runs cargo. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";
import { repeats, seed } from "../support/draws.mjs";
import { modelFolder, plainFolder, referenceTokenizer } from "../support/own-models.mjs";
import { anyText, comparable } from "../support/texts.mjs";

const MAX_TOKENS = 512;

/** Texts for one run of the tokenizer, because all are in memory. */
const AT_ONCE = 1000;

/** Returns the token ids of each text by a tokenizer: the built-in vocabulary, or that of a folder. */
function engineTokens(texts, tokenizer) {
	// As `cargo test` builds it, so that nothing is compiled again.
	const command = "run --quiet --profile test --example tokenize --".split(" ");
	const { stdout, status, error } = spawnSync("cargo", [...command, tokenizer], {
		cwd: root,
		input: texts.map((text) => JSON.stringify(text)).join("\n"),
		encoding: "utf8",
		maxBuffer: 1 << 30,
		stdio: ["pipe", "pipe", "inherit"],
	});
	assert.ifError(error);
	assert.equal(status, 0);
	const lines = stdout.trimEnd().split("\n");
	assert.equal(lines.length, texts.length);
	return lines.map((line) => JSON.parse(line));
}

const builtIn = [
	"the built-in model",
	`npm/${platformName()}/model/vocabulary.bin`,
	plainFolder,
	4000,
];
const others = ["bert", "cased", "mpnet", "xlm-roberta", "roberta", "long"].map((name) => [
	name,
	`${modelFolder(name)}/tokenizer.json`,
	modelFolder(name),
	100,
]);

for (const [name, tokenizer, folder, count] of [builtIn, ...others])
	test(`the tokenizer of ${name} gives generated texts the tokens of transformers.js`, async () => {
		const reference = await referenceTokenizer(folder);
		const sample = fc.sample(anyText, { numRuns: repeats(count), seed });
		// The engine replaces lone surrogates by U+FFFD, which the built-in tokenizer alone drops.
		const texts = sample.map((text) => comparable(text).toWellFormed());
		for (let first = 0; first < texts.length; first += AT_ONCE) {
			const some = texts.slice(first, first + AT_ONCE);
			for (const [index, found] of engineTokens(some, tokenizer).entries()) {
				const text = some[index];
				// With the truncation of the SDK instead of that in tokenizer.json.
				const expected = reference.encode(text).slice(0, MAX_TOKENS);
				const start = JSON.stringify(text.slice(0, 2000));
				assert.deepEqual(found, expected, `KP_SEED=${seed}, ${text.length} code units: ${start}`);
			}
		}
	});
