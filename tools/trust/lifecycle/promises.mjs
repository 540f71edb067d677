/** Every promise settles, whatever is called, and whenever a scorer is closed. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { valueIn } from "../lib/child.mjs";
import { LIMIT_MS, MARGIN_MS } from "./ends.mjs";

/** Each process makes so many scorers. */
const SCORERS = 25;

export async function promises({ times, seed, log }) {
	const folder = mkdtempSync(join(tmpdir(), "kp-promises-"));
	const sum = { calls: 0, slowest: 0 };
	try {
		for (let done = 0; done < times; done += SCORERS) {
			const count = Math.min(SCORERS, times - done);
			const input = { times: count, seed: seed + done, folder };
			const file = "lifecycle/promising.mjs";
			const { calls, slowest } = await valueIn(file, "promising", { input });
			assert.ok(slowest <= LIMIT_MS + MARGIN_MS, `close took ${slowest} ms`);
			sum.calls += calls;
			sum.slowest = Math.max(sum.slowest, slowest);
		}
	} finally {
		rmSync(folder, { recursive: true });
	}
	const found = `every promise settled as expected, slowest close ${sum.slowest.toFixed()} ms`;
	log(`promises of ${times} scorers: ${sum.calls}, ${found}`);
	return [
		{
			what: "calls of every kind, two thirds of the scorers closed among them",
			tried: `${sum.calls} promises of ${times} scorers`,
			found,
		},
	];
}
