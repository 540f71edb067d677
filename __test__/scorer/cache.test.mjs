import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { _getLocalCache, Scorer, scoreWith, VectorCache } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { novel, profiles, trace } from "../support/traces.mjs";

test("Scorer has a cache of its own", async () => {
	const [one, other] = [new Scorer({ profiles }), new Scorer({ profiles })];
	assert.equal(await one.evaluateValue(novel("a test that fails")), 0.5);
	assert.equal(await other.evaluateValue(novel("a test that fails")), 0.5);
	assert.ok((await one.evaluateValue(novel("a test that fails"))) < 1e-6);
	assert.deepEqual([one.status().cacheSize, other.status().cacheSize], [2, 1]);
});

test("Scorer keeps cache.maxElements traces, and drops the oldest first", async () => {
	const scorer = new Scorer({ profiles, cache: { maxElements: 1 } });
	await scorer.evaluateValue(novel("bread", "a"));
	await scorer.evaluateValue(novel("locks", "b"));
	const { novelty } = await scorer.explainValue(novel("bread"));
	assert.equal(novelty.nearest, "b");
});

test("explainValue with remember: false reports, and leaves the cache alone", async () => {
	const scorer = new Scorer({ profiles });
	const options = { remember: false };
	const { novelty } = await scorer.explainValue(novel("bread"), options);
	assert.equal(novelty.source, "empty-cache");
	assert.equal(scorer.status().cacheSize, 0);
	await scorer.remember(novel("bread", "x"));
	assert.equal((await scorer.explainValue(novel("bread"), options)).novelty.nearest, "x");
	assert.equal(scorer.status().cacheSize, 1);
	await scorer.evaluateValue(novel("locks"), { remember: true });
	await scorer.evaluateValue(novel("tides"), { remember: undefined });
	assert.equal(scorer.status().cacheSize, 3);
});

test("evaluateValue refuses unknown options", async () => {
	const scorer = new Scorer();
	for (const [options, path] of [
		[{ remember: 1 }, "remember"],
		[{ remember: null }, "remember"],
		[{ forget: true }, "forget"],
	])
		await assert.rejects(scorer.evaluateValue(trace(), options), { code: "INVALID_OPTION", path });
	await assert.rejects(scorer.embed("x", { remember: false }), { path: "remember" });
});

test("Scorer.forget removes the traces with an id", async () => {
	const scorer = new Scorer({ profiles });
	assert.equal(await scorer.remember(novel("bread", "x")), undefined);
	await scorer.remember(novel("locks", "x"));
	await scorer.remember(novel("tides", "y"));
	assert.equal(await scorer.forget("z"), 0);
	assert.equal(await scorer.forget("x"), 2);
	const { novelty } = await scorer.explainValue(novel("bread"));
	assert.equal(novelty.nearest, "y");
	assert.equal(await scorer.clear(), undefined);
	assert.equal(scorer.status().cacheSize, 0);
	for (const id of [5, "\ud800"])
		await assert.rejects(scorer.forget(id), { code: "INVALID_OPTION", path: "id" });
});

test("Scorer.remember, embed and similar reject without an embedder", async () => {
	const scorer = new Scorer({ embedder: "off" });
	for (const call of [scorer.remember(novel("bread")), scorer.embed("x"), scorer.similar("x")])
		await assert.rejects(call, { code: "EMBEDDER_UNAVAILABLE" });
});

test("evaluateValue, remember, forget and clear use the scorer of the module", async () => {
	const me = { ...trace(), id: "me" };
	const found = await valueFrom(
		async ({ scoring, input }) => {
			const { clear, evaluateValue, forget, remember, status } = scoring;
			await remember(input);
			const size = status().cacheSize;
			const peeked = await evaluateValue(input, { remember: false });
			const forgotten = await forget(input.id);
			await remember(input);
			await clear();
			return { size, peeked, forgotten, left: status().cacheSize };
		},
		{ input: me },
	);
	assert.deepEqual([found.size, found.forgotten, found.left], [1, 1, 0]);
	assert.ok(Math.abs(found.peeked - scoreWith(me, { maxSimilarity: 1 }).score) < 1e-6);
});

test("_getLocalCache returns the VectorCache of the module's scorer", () => {
	const cache = _getLocalCache();
	assert.equal(_getLocalCache(), cache);
	assert.equal(createRequire(import.meta.url)("@knowledgepulse/scoring")._getLocalCache(), cache);
	assert.ok(cache instanceof VectorCache);
	assert.throws(() => cache.add([1]), { message: "Expected 384 dimensions, got 1" });
});
