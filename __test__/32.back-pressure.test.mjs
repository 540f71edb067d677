import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "../index.mjs";
import { valueFrom } from "./lib/child.mjs";
import { trace, words } from "./lib/traces.mjs";

/** So many calls that have their answer may wait for their turn at the cache. */
const MOST_EARLY = 1024;

test("early answers do not run away from the model", async () => {
	const scorer = new Scorer({ cache: { maxElements: 2_000 } });
	await scorer.warmup();
	const count = 1_300;
	const thoughts = Array.from({ length: count }, (_, index) =>
		trace({
			objective: `Thought ${index} of ${words(8, index)}`,
			steps: [{ type: "thought" }],
		}),
	);
	const scores = await scorer.evaluateValues(thoughts);
	assert.deepEqual(new Set(scores), new Set([0.1]));
	const waiting = count - scorer.status().cacheSize;
	assert.ok(waiting <= MOST_EARLY, `${waiting} wait, and nobody for them`);
	scorer.close();
});

test("calls that are over keep no text, although their handles may live on", async () => {
	const grown = await valueFrom(
		async ({ scoring, input }) => {
			const scorer = new scoring.Scorer({ budgetMs: 0 });
			const { signal } = new AbortController();
			let index = 0;
			const one = () => {
				const task = { objective: `${index++} ${input.task.objective}` };
				return scorer.evaluateValue({ ...input, task }, { signal });
			};
			const score = async (count) => {
				for (let call = 0; call < count; call += 50)
					await Promise.all(Array.from({ length: 50 }, one));
			};
			await score(5_000);
			const before = process.memoryUsage.rss();
			await score(25_000);
			return (process.memoryUsage.rss() - before) / 1e6;
		},
		{ input: trace({ objective: words(600, 1) }) },
	);
	// The texts are of 4 kB each, 100 MB together.
	assert.ok(grown < 50, `${grown} MB`);
});

// Only Linux counts the threads of a user, and not those of root.
if (process.platform === "linux")
	test("a budget for which the system gives no thread rejects its calls, once", async () => {
		const outcome = await valueFrom(
			async ({ scoring, input }) => {
				const { execFileSync } = await import("node:child_process");
				await scoring.evaluateValue(input);
				if (process.getuid() === 0) process.setuid(65534);
				execFileSync("prlimit", [`--pid=${process.pid}`, "--nproc=1:1"]);
				const scorer = new scoring.Scorer({ budgetMs: 1_000 });
				const codes = new Set();
				for (let call = 0; call < 200; call++)
					await scorer
						.evaluateValue(input)
						.catch(({ code }) => codes.add(code));
				// Time for an answer that must not come any more.
				await new Promise((resolve) => setTimeout(resolve, 300));
				return [[...codes], scorer.status().calls];
			},
			{ input: trace() },
		);
		assert.deepEqual(outcome, [
			["INTERNAL"],
			{ answered: 0, failed: 0, aborted: 0, overBudget: 0 },
		]);
	});
