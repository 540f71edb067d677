import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { assertEnds } from "./support.mjs";

const { COMMANDS, OPTIONS, optionsOf } = createRequire(import.meta.url)("../lib/options.js");

const manual = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

/** The value of an option as the manual writes it. */
const shout = (value) => value.slice(1, -1).toUpperCase();

for (const [name, command] of Object.entries(COMMANDS))
	test(`kp-score ${name} --help has all options, with examples`, async () => {
		const { stdout } = await assertEnds(0, [name, "--help"]);
		const [described, examples] = stdout.split("\nExamples:\n");
		for (const { flags, short, long } of optionsOf(command)) {
			assert.ok(described.includes(`\n  ${flags} `), flags);
			const names = [short, long].filter(Boolean).join("|");
			assert.match(examples, new RegExp(` (${names})( |$)`, "m"));
		}
	});

test("docs/cli.md has a row for every option of kp-score, which begins with its help", () => {
	for (const [flags, given] of Object.entries(OPTIONS)) {
		const names = flags.split(", ").map((name) => `\`${name.replace(/<.*>/, shout)}\``);
		const row = `\n| ${names.join(", ")} | ${[given].flat()[0]}`;
		assert.ok(manual.includes(row), row);
	}
});
