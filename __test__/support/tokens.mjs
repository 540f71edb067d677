/** The tokens of the engine, by an example of its Rust crate. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";

/** The token ids of each text by the built-in tokenizer, or by that of a folder. */
export function engineTokens(texts, folder) {
	const builtIn = join("npm", platformName(), "model/tokenizer.json");
	const tokenizer = folder
		? [join(folder, "tokenizer.json"), "--own"]
		: [builtIn];
	const { stdout, status, error } = spawnSync(
		"cargo",
		[
			...[
				"run",
				"--quiet",
				"--release",
				"--package",
				"knowledgepulse-embedder",
			],
			...["--example", "tokenize", "--"],
			...tokenizer,
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
