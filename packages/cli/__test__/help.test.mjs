import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { assertEnds } from "./support.mjs";

const { COMMANDS, OPTIONS, optionsOf } = createRequire(import.meta.url)("../lib/options.js");

/** The options that a page names, but for those in commands of npm. */
const namedIn = (page) =>
	readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8")
		.replaceAll(/^npm .*$|`npm [^`]*`/gm, "")
		.match(/(?<![\w-])--[a-z][a-z-]*/g);

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

for (const page of ["cli.md", "select.md"])
	test(`docs/${page} names options of kp-score alone`, () => {
		const known = ["--help", ...Object.keys(OPTIONS).flatMap((flags) => flags.match(/--[a-z-]+/g))];
		const unknown = namedIn(page).filter((name) => !known.includes(name));
		assert.deepEqual(unknown, []);
	});
