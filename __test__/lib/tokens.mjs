/** The tokens of the engine, which only its Rust side shows. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { platformName } from "../../scripts/lib/build.mjs";
import { root } from "../../scripts/lib/run.mjs";

/** The token ids of each text, by the tokenizer that is shipped. */
export function engineTokens(texts) {
	const tokenizer = join("npm", platformName(), "model/tokenizer.json");
	const { stdout, status, error } = spawnSync(
		"cargo",
		[
			...["run", "--quiet", "--release", "--example", "tokenize", "--"],
			tokenizer,
		],
		{
			cwd: root,
			// A lone surrogate cannot be written as JSON for Rust; both sides drop U+FFFD.
			input: texts
				.map((text) => JSON.stringify(text.toWellFormed()))
				.join("\n"),
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
