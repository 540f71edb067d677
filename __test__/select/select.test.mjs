import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { runs } from "../fixtures/runs.mjs";
import { sharing } from "../support/stores.mjs";
import { kinds, novel, profiles, trace, words } from "../support/traces.mjs";

const some = runs.slice(0, 12);

const off = { embedder: "off" };

/** Selects by scoring all that are left, each time. */
async function selectedByHand(traces, count, options) {
	const scorer = new Scorer(options);
	const left = traces.map((trace, index) => ({ trace, index }));
	const selected = [];
	while (selected.length < count) {
		for (const one of left) one.report = await scorer.explainValue(one.trace, { remember: false });
		const best = left.reduce((a, b) => (b.report.score > a.report.score ? b : a));
		left.splice(left.indexOf(best), 1);
		await scorer.remember(best.trace);
		selected.push(best);
	}
	return selected;
}

const shown = ({ index, report: { text, timesMs, ...report } }) => ({ index, report });

for (const novelty of kinds)
	test(`Scorer.select is explainValue of all, and remember of the best, novelty ${novelty}`, async () => {
		const scorer = new Scorer({ novelty });
		const selected = await scorer.select(some, { count: 8 });
		const expected = await selectedByHand(some, 8, { novelty });
		assert.deepEqual(selected.map(shown), expected.map(shown));
		for (const { index, id, report } of selected) {
			assert.equal(id, some[index].id ?? null);
			assert.equal(report.text.novelty, novelty);
		}
		assert.equal(scorer.status().cacheSize, 0);
	});

test("Scorer.select prefers another task to a repetition that comes first", async () => {
	const texts = ["refund an order", "refund an order", "sort the letters"];
	const given = texts.map((text, index) => novel(text, String(index)));
	async function* streamed() {
		yield* given;
	}
	const scorer = new Scorer({ profiles, novelty: "words" });
	for (const traces of [given, new Set(given), streamed()]) {
		const selected = await scorer.select(traces, { threshold: 0.5 });
		assert.deepEqual(
			selected.map(({ id, report }) => [id, report.novelty.source, report.novelty.nearest]),
			[
				["0", "empty-cache", null],
				["2", "cache", "0"],
			],
		);
	}
	assert.equal((await scorer.select(given)).length, 3);
	assert.deepEqual(await scorer.select([]), []);
});

test("Scorer.select without the embedder has the order of scores with a novelty of 0.5", async () => {
	const scorer = new Scorer(off);
	const selected = await scorer.select(some);
	const scores = await scorer.evaluateValues(some);
	const expected = [...some.keys()].toSorted((a, b) => scores[b] - scores[a] || a - b);
	assert.deepEqual(
		selected.map(({ index }) => index),
		expected,
	);
	assert.ok(selected.every(({ report }) => report.novelty.source === "no-embedder"));
	const required = new Scorer({ embedder: "required", library: "/missing", model: "/missing" });
	await assert.rejects(required.select(some), { code: "EMBEDDER_UNAVAILABLE" });
});

test("Scorer.select does not ask the store", async () => {
	const ask = () => assert.fail("the store was asked");
	const scorer = sharing().scorerThrough({ append: ask, read: ask });
	assert.equal((await scorer.select(some.slice(0, 3))).length, 3);
});

test("Scorer.select rejects for a wrong trace, iterable or option, and when the scorer is closed", async () => {
	const scorer = new Scorer(off);
	for (const [traces, options, code, path] of [
		[[trace(), {}], {}, "INVALID_TRACE", "metadata"],
		[5, {}, "INVALID_OPTION", "traces"],
		[[], { count: 0 }, "INVALID_OPTION", "count"],
		[[], { threshold: 1.5 }, "INVALID_OPTION", "threshold"],
		[[], { remember: true }, "INVALID_OPTION", "remember"],
	])
		await assert.rejects(scorer.select(traces, options), { code, path });
	scorer.close();
	for (const traces of [[], [trace()]])
		await assert.rejects(scorer.select(traces), { code: "CLOSED" });
});

test("Scorer.select rejects with the reason of its signal", async () => {
	const reason = new Error("stop");
	const scorer = new Scorer({ precision: "fast" });
	await assert.rejects(scorer.select(some, { signal: AbortSignal.abort(reason) }), reason);
	const stop = new AbortController();
	const selecting = scorer.select(
		Array.from({ length: 200 }, (_, seed) => novel(words(400, seed))),
		{ signal: stop.signal },
	);
	setTimeout(() => stop.abort(reason), 50);
	await assert.rejects(selecting, reason);
});
