import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scoreWith } from "@knowledgepulse/scoring";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { logs } from "../support/imports.mjs";

const skip = !existsSync(logs);

test("imported traces score to the bit as in Rust, with the same text", { skip }, async () => {
	const paths = readdirSync(logs)
		.filter((name) => name !== "golden" && !name.includes("."))
		.flatMap((name) => readdirSync(join(logs, name)).map((file) => join(logs, name, file)));
	const options = { assumeSuccess: true, errors: "collect" };
	const found = new Map();
	for (const path of paths)
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
