/** The memory of pending calls. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { repeats } from "../support/draws.mjs";
import { says, words } from "../support/traces.mjs";

/** A call keeps only the text that the model sees. */
const BYTES_PER_CALL = 32_000;

test("a pending call keeps only the text that the model sees", async (t) => {
	const count = repeats(1_000);
	const huge = words(2_000, 1).repeat(700);
	for (const text of [words(15, 1), words(450, 1), huge]) {
		const scorer = new Scorer();
		await scorer.warmup();
		const trace = says(text);
		const before = process.memoryUsage.rss();
		const calls = Array.from({ length: count }, () => scorer.evaluateValue(trace));
		const bytes = Math.round((process.memoryUsage.rss() - before) / count);
		scorer.close();
		await Promise.allSettled(calls);
		t.diagnostic(`${bytes} bytes for a text of ${text.length} bytes`);
		assert.ok(bytes < BYTES_PER_CALL, `${bytes} bytes for a text of ${text.length} bytes`);
	}
});
