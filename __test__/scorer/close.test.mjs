import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { Scorer, ScoringError } from "@knowledgepulse/scoring";
import { says, trace, words } from "../support/traces.mjs";

const long = (seed) => says(words(400, seed));

test("Scorer.close rejects unanswered and later calls with CLOSED", async () => {
	const scorer = new Scorer();
	await scorer.warmup();
	const calls = Array.from({ length: 20 }, (_, seed) => scorer.evaluateValue(long(seed)));
	scorer.close();
	const settled = await Promise.allSettled(calls);
	const rejected = settled.filter(({ status }) => status === "rejected");
	assert.ok(rejected.length >= 15, `${rejected.length} of 20 were unanswered`);
	for (const { reason } of rejected) {
		assert.ok(reason instanceof ScoringError);
		assert.equal(reason.code, "CLOSED");
	}
	assert.equal(scorer.status().pending, 0);
	scorer.close();
});

test("Scorer.close rejects every kind of call with CLOSED", async () => {
	const scorer = new Scorer({ longText: "whole" });
	// This call takes minutes; the others wait for their turn.
	const first = scorer.evaluateValue(says(words(1_000_000, 1)));
	const make = [
		() => scorer.evaluateValue(trace()),
		() => scorer.explainValue(trace()),
		() => scorer.evaluateValue(trace(), { remember: false }),
		() => scorer.remember(trace()),
		() => scorer.evaluateValues([trace()]),
		() => scorer.warmup(),
	];
	const before = make.map((call) => call());
	const snapshot = scorer.snapshot();
	scorer.close();
	const later = make.map((call) => call());
	const closed = { name: "ScoringError", code: "CLOSED" };
	const calls = [first, ...before, ...later];
	await Promise.all(calls.map((call) => assert.rejects(call, closed)));
	// The cache of a closed scorer can still be saved.
	assert.ok((await snapshot).length > 0);
});

test("Scorer.close rejects calls that wait for a budget or a signal", async () => {
	const scorer = new Scorer({ budgetMs: 1e12, longText: "whole" });
	const { signal } = new AbortController();
	const calls = [1, 2, 3].map((seed) =>
		scorer.evaluateValue(says(words(100_000, seed)), { signal }),
	);
	scorer.close();
	await Promise.all(calls.map((call) => assert.rejects(call, { code: "CLOSED" })));
	assert.equal(getEventListeners(signal, "abort").length, 0);
	assert.equal(scorer.status().calls.overBudget, 0);
});

test("Scorer is closed at the end of its block by using", async () => {
	const scorer = new Scorer();
	scorer[Symbol.dispose]();
	await assert.rejects(scorer.evaluateValue(trace()), { code: "CLOSED" });
});
