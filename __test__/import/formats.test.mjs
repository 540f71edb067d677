import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LOG_FORMATS } from "@knowledgepulse/scoring/logs";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("LOG_FORMATS cannot be changed, and is what its declaration says", () => {
	assert.ok(Object.isFrozen(LOG_FORMATS));
	const [, list] = /LOG_FORMATS: readonly \[([^\]]*)\]/.exec(read("lib/types/logs.d.ts"));
	assert.deepEqual(
		LOG_FORMATS,
		[...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name),
	);
});

test("LOG_FORMATS has the formats in the table of docs/importers.md", () => {
	const [, formats] = read("docs/importers.md").split("\n## Formats\n");
	const [table] = formats.split("\n## ");
	const names = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
	assert.deepEqual(names.sort(), [...LOG_FORMATS].sort());
});
