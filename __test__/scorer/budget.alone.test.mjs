import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { valueFrom } from "../support/child.mjs";
import { assertAddsUp } from "../support/scores.mjs";
import { filling, says, trace, words } from "../support/traces.mjs";

test("Scorer resolves a call over budget with novelty 0.5 and the source over-budget", async () => {
	const scorer = new Scorer({ budgetMs: 0 });
	const report = await scorer.explainValue(says(words(500, 9001)));
	assert.deepEqual(
		[report.novelty, report.dimensions.novelty, report.text],
		[
			{
				source: "over-budget",
				maxSimilarity: null,
				nearest: null,
				seq: null,
				reason: null,
			},
			0.5,
			null,
		],
	);
	assertAddsUp(report);
	assert.equal(scorer.status().budgetMs, 0);
});

test("Scorer goes on after calls over budget, which leave cache and memo unchanged", async () => {
	const scorer = new Scorer({ budgetMs: 500 });
	await scorer.warmup();
	const traces = filling(1000);
	const reports = await Promise.all(traces.map((trace) => scorer.explainValue(trace)));
	const isOver = ({ novelty }) => novelty.source === "over-budget";
	const late = traces[reports.findLastIndex(isOver)];
	assert.equal((await new Scorer().explainValue(late)).text.fromMemo, false);
	// Until the machine has time for it.
	do reports.push(await scorer.explainValue(late));
	while (isOver(reports.at(-1)));
	const { cacheSize, calls, pending } = scorer.status();
	const over = reports.filter(isOver).length;
	assert.deepEqual([cacheSize, calls.overBudget, pending], [reports.length - over, over, 0]);
});

test("Scorer applies the budget with remember: false, and scores as without an embedder", async () => {
	const value = trace({ steps: [{ type: "observation", content: words(500, 8) }] });
	const scorer = new Scorer({ budgetMs: 0 });
	const expected = await new Scorer({ embedder: "off" }).evaluateValue(value);
	assert.equal(await scorer.evaluateValue(value, { remember: false }), expected);
	assert.equal(await scorer.evaluateValue(value), expected);
});

test("Scorer rejects with the reason of a signal before the budget is over", async () => {
	const scorer = new Scorer({ budgetMs: 1e9 });
	const controller = new AbortController();
	const { signal } = controller;
	const call = scorer.evaluateValue(says(words(500, 5)), { signal });
	controller.abort();
	await assert.rejects(call, { name: "AbortError" });
	const { aborted, overBudget } = scorer.status().calls;
	assert.deepEqual([aborted, overBudget], [1, 0]);
});

for (const budgetMs of [2 ** 31 - 1, 2 ** 31, 1e12, Number.MAX_VALUE]) {
	test(`Scorer scores as without a budget when it has ${budgetMs} ms`, async (t) => {
		const warnings = [];
		const listen = (warning) => warnings.push(warning);
		process.on("warning", listen);
		t.after(() => process.off("warning", listen));
		const scorer = new Scorer({ budgetMs });
		assert.deepEqual(
			await scorer.evaluateValues(traces),
			await new Scorer().evaluateValues(traces),
		);
		assert.equal(scorer.status().calls.overBudget, 0);
		assert.deepEqual(warnings, [], "such as a TimeoutOverflowWarning");
	});
}

test("Scorer keeps no text of calls over budget, even while their signal lives", async () => {
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
			await score(3_000);
			// What waits for a busy machine is held for a while, but kept texts are held by each round.
			const rounds = [];
			for (let round = 0; round < 3; round += 1) {
				const before = process.memoryUsage.rss();
				await score(6_000);
				rounds.push((process.memoryUsage.rss() - before) / 1e6);
			}
			return Math.min(...rounds);
		},
		{ input: trace({ objective: words(600, 1) }) },
	);
	// The texts have 4 kB each, 24 MB in a round.
	assert.ok(grown < 12, `${grown} MB`);
});
