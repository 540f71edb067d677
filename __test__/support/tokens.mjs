/** The tokens of the engine, by an example of its Rust crate. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";
import { seed } from "./draws.mjs";

const MAX_TOKENS = 512;

/** Fails unless the texts have the tokens that `tokenizer` of transformers.js gives them. */
export function assertSameTokens(texts, tokenizer, folder) {
	const found = engineTokens(texts, folder);
	for (const [index, text] of texts.entries()) {
		// With the truncation of the SDK instead of that in tokenizer.json.
		const expected = tokenizer.encode(text).slice(0, MAX_TOKENS);
		const start = JSON.stringify(text.slice(0, 2000));
		assert.equal(
			JSON.stringify(found[index]),
			JSON.stringify(expected),
			`KP_SEED=${seed}, text ${index} of ${text.length} code units: ${start}`,
		);
	}
}

/** Returns the token ids of each text by the built-in tokenizer, or by that of a folder. */
function engineTokens(texts, folder) {
	const builtIn = join("npm", platformName(), "model/tokenizer.json");
	const tokenizer = folder ? [join(folder, "tokenizer.json"), "--own"] : [builtIn];
	const { stdout, status, error } = spawnSync(
		"cargo",
		[
			// As `cargo test` builds it, so that nothing is compiled again.
			"run",
			"--quiet",
			"--profile",
			"test",
			"--example",
			"tokenize",
			"--",
			...tokenizer,
		],
		{
			cwd: root,
			// A lone surrogate cannot be written as JSON for Rust; both sides drop U+FFFD.
			input: texts.map((text) => JSON.stringify(text.toWellFormed())).join("\n"),
			encoding: "utf8",
			maxBuffer: 1 << 30,
			stdio: ["pipe", "pipe", "inherit"],
		},
	);
	assert.ifError(error);
	assert.equal(status, 0);
	const lines = stdout.trimEnd().split("\n");
	assert.equal(lines.length, texts.length);
	return lines.map((line) => JSON.parse(line));
}
