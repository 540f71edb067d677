import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assertEnds } from "./support.mjs";

const COMMANDS = ["score", "explain", "import", "compare", "calibrate", "doctor"];

const manual = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

/** The options of a command: `[short, long]`. */
const optionsIn = (help) =>
	[...help.matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm)]
		.map(([, short, long]) => [short, long])
		.filter(([, long]) => long !== "--help");

for (const command of COMMANDS)
	test(`kp-score ${command} --help has an example for every option, and docs/cli.md a row`, async () => {
		const { stdout } = await assertEnds(0, [command, "--help"]);
		const [described, examples] = stdout.split("\nExamples:\n");
		const options = optionsIn(described);
		assert.ok(options.length > 1);
		for (const names of options)
			assert.ok(
				names.some((name) => name && new RegExp(`${name}( |$)`, "m").test(examples)),
				`${names.join(", ")} has no example`,
			);
		for (const [, long] of options)
			assert.match(manual, new RegExp(`^\\| .*\`${long}( |\`).*\\|`, "m"), long);
	});
