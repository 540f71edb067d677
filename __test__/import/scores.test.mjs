import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { scoreWith } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { recordings } from "../support/imports.mjs";

const skip = recordings.length === 0;

test("imported traces score to the bit as in Rust, with the same text", { skip }, async () => {
	const options = { assumeSuccess: true, errors: "collect" };
	const found = new Map();
	for (const path of recordings.flatMap(({ paths }) => paths))
		for await (const { trace } of importTraces(path, options)) {
			if (trace === undefined) continue;
			const contents = trace.steps.map(({ content }) => content ?? "");
			const text = [trace.task.objective, ...contents].join(" ");
			const hash = createHash("sha256").update(text).digest("hex");
			const { score } = scoreWith(trace, { maxSimilarity: 0.25 });
			found.set(trace.id, [hash.slice(0, 12), score]);
		}
	// crates/import/tests/scores.rs expects the same file.
	const file = new URL("../fixtures/imported-scores.json", import.meta.url);
	const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
	assert.deepEqual(sorted, JSON.parse(readFileSync(file, "utf8")));
});
