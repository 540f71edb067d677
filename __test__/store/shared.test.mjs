import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { runs } from "../data/runs.mjs";
import { named, sharing, through } from "../support/stores.mjs";
import { kinds, says, words } from "../support/traces.mjs";

const texts = Array.from({ length: 60 }, (_, seed) =>
	// Some are repeated.
	named(`trace ${seed}`, words(5 + (seed % 7), seed % 40)),
);

for (const novelty of kinds)
	test(`Scorer with a store gives the scores of one scorer that had all traces in the store's order, novelty ${novelty}`, async () => {
		const { scorer } = sharing();
		const options = { cache: { maxElements: 20 }, novelty };
		const scorers = [1, 2, 3].map(() => scorer(options));
		const reports = await Promise.all(
			texts.map((text, index) => scorers[index % 3].explainValue(text)),
		);
		const order = reports
			.map(({ novelty, score }, index) => ({ ...novelty, score, index }))
			.sort((a, b) => a.seq - b.seq);
		assert.deepEqual(
			order.map(({ seq }) => seq),
			texts.map((_, index) => index + 1),
		);
		const alone = new Scorer(options);
		for (const { index, score, source, maxSimilarity, nearest } of order) {
			const expected = await alone.explainValue(texts[index]);
			assert.equal(score, expected.score, texts[index].id);
			assert.equal(source, "store");
			assert.equal(maxSimilarity, expected.novelty.maxSimilarity);
			assert.equal(nearest, expected.novelty.nearest);
		}
	});

test("Scorer with a store asks it in the async context in which it was made", async () => {
	const context = new AsyncLocalStorage();
	const seen = new Set();
	const see = (real) => {
		seen.add(context.getStore());
		return real();
	};
	const scorer = context.run("made", () => sharing().scorerThrough({ append: see, read: see }));
	for (const request of ["first", "second"])
		await context.run(request, () =>
			Promise.all(texts.slice(0, 20).map((text) => scorer.evaluateValue(text))),
		);
	await scorer.evaluateValue(texts[0]);
	assert.deepEqual([...seen], ["made"]);
});

test("Scorer with a store settles calls in their order, and in batches of 64", async () => {
	const batches = [];
	const scorer = sharing().scorerThrough({
		append: async (append, entries) => {
			batches.push(entries.length);
			// Meanwhile the others become ready.
			if (batches.length === 1) await new Promise((resolve) => setTimeout(resolve, 500));
			return append();
		},
	});
	const settled = [];
	await Promise.all(
		Array.from({ length: 100 }, (_, index) =>
			scorer.evaluateValue(texts[index % 3]).then(() => settled.push(index)),
		),
	);
	assert.deepEqual(
		settled,
		Array.from({ length: 100 }, (_, index) => index),
	);
	assert.equal(Math.max(...batches), 64);
	assert.equal(
		batches.reduce((sum, count) => sum + count),
		100,
	);
});

test("remember, forget and clear with a store change the memory of all scorers", async () => {
	const { scorer } = sharing();
	const [one, other] = [scorer(), scorer()];
	const [trace] = texts;
	const peek = async () => (await other.explainValue(trace)).novelty;
	await one.remember(trace);
	assert.equal(await one.forget("unknown"), 0);
	const { seq, maxSimilarity, nearest } = await peek();
	assert.deepEqual([seq, nearest], [3, trace.id]);
	assert.ok(maxSimilarity > 0.999);
	assert.equal(await one.forget(trace.id), 2);
	assert.equal((await peek()).maxSimilarity, null);
	assert.equal(await one.clear(), undefined);
	assert.equal((await peek()).maxSimilarity, null);
	assert.equal(one.status().cacheSize, 0);
	assert.equal(other.status().cacheSize, 1);
});

test("a store whose entries have ids that are too long, written by others, is read without these ids", async () => {
	const { namespaces, scorer } = sharing();
	const one = scorer();
	await one.remember(texts[0]);
	await one.forget("unknown");
	for (const entry of namespaces.get("test").entries) entry.id = "x".repeat(1e6);
	const { novelty } = await scorer().explainValue(texts[0]);
	assert.deepEqual([novelty.source, novelty.nearest], ["store", null]);
	assert.ok(novelty.maxSimilarity > 0.999);
});

test("forget of a string that is too long for an id removes and appends nothing", async () => {
	const { namespaces, scorer } = sharing();
	for (const one of [new Scorer(), scorer()]) {
		await one.remember(texts[0]);
		for (const id of ["x".repeat(1025), "é".repeat(513), "x".repeat(1e6)])
			assert.equal(await one.forget(id), 0);
		assert.equal(await one.forget(texts[0].id), 1);
		assert.equal(await one.forget("x".repeat(1024)), 0);
	}
	const ids = namespaces.get("test").entries.map(({ id }) => id.length);
	assert.deepEqual(ids, [texts[0].id.length, texts[0].id.length, 1024]);
});

test("evaluateValues, signals and budgets work with a store", async () => {
	const { scorer, namespaces } = sharing();
	const shared = scorer();
	const alone = new Scorer();
	const five = runs.slice(0, 5);
	assert.deepEqual(await shared.evaluateValues(five), await alone.evaluateValues(five));
	const { head } = namespaces.get("test");
	const reason = new Error("stopped");
	await assert.rejects(
		shared.evaluateValue(texts[0], { signal: AbortSignal.abort(reason) }),
		reason,
	);
	const abort = new AbortController();
	const long = says(words(400, 998));
	const call = shared.evaluateValue(long, { signal: abort.signal });
	abort.abort(reason);
	await assert.rejects(call, reason);
	const hurried = scorer({ budgetMs: 0 });
	// Any text exceeds a budget of 0.
	const { novelty } = await hurried.explainValue(says(words(400, 999)));
	assert.equal(novelty.source, "over-budget");
	await hurried.warmup();
	assert.equal(namespaces.get("test").head, head);
});

test("warmup reads the store; status says how far it is known", async () => {
	const { scorer } = sharing();
	const [one, other] = [scorer(), scorer({ storeMode: "required" })];
	const idle = { state: "idle", reason: null, isResumed: false, epoch: null, seq: null };
	assert.deepEqual(other.status().store, { mode: "required", ...idle });
	assert.deepEqual(new Scorer().status().store, null);
	await one.evaluateValues(texts);
	const { store, cacheSize } = await other.warmup();
	assert.deepEqual([store.state, store.seq, cacheSize], ["ready", texts.length, texts.length]);
	assert.equal(store.epoch, one.status().store.epoch);
	assert.equal(one.status().pending, 0);
});

test("a store of many pages is read to its end", async () => {
	const { scorer, scorerThrough } = sharing();
	const cache = { maxElements: 10_000 };
	const one = scorer({ cache });
	await one.evaluateValues(Array.from({ length: 1100 }, (_, i) => texts[i % 9]));
	const limits = [];
	const note = (call, limit) => {
		limits.push(limit);
		return call();
	};
	const other = scorerThrough(
		{
			append: (append, _entries, { limit }) => note(append, limit),
			read: (read, { limit }) => note(read, limit),
		},
		{ cache },
	);
	const { novelty } = await other.explainValue(texts[0]);
	assert.deepEqual([novelty.seq, novelty.nearest], [1101, texts[0].id]);
	assert.deepEqual(limits, Array(7).fill(192));
});

test("a store replaces the cache", () => {
	const { scorer } = sharing();
	assert.throws(() => scorer().cache, { code: "INVALID_OPTION", path: "store" });
});

test("Scorer with a store compares calls that add nothing on another thread", async (t) => {
	const { native } = createRequire(import.meta.url)("../../lib/native.js");
	const finish = t.mock.method(native.Scorer.prototype, "finishBatch");
	const one = sharing().scorer();
	await one.evaluateValue(named("a"));
	assert.equal((await one.similar("a"))[0].id, "a");
	for (const { result } of finish.mock.calls) assert.ok(result instanceof Promise);
	assert.ok(finish.mock.callCount() >= 2);
});

test("Scorer.close ends calls that wait for the store, which stays open", async () => {
	const { open } = sharing();
	const real = open();
	let signal;
	const store = through(real, {
		append: (_append, _entries, options) => {
			signal = options.signal;
			return new Promise(() => {});
		},
	});
	const scorer = new Scorer({ store });
	const calls = texts.slice(0, 5).map((text) => scorer.evaluateValue(text));
	while (!signal) await new Promise(setImmediate);
	scorer.close();
	await Promise.all(calls.map((call) => assert.rejects(call, { code: "CLOSED" })));
	await assert.rejects(scorer.forget("x"), { code: "CLOSED" });
	assert.ok(signal.aborted);
	assert.ok(!real.isClosed);
});

test("Scorer refuses wrong options of a store", () => {
	const { open } = sharing();
	const store = open();
	for (const [options, message] of [
		[{ store: null }, /^store: expected a store with append\(\) and read\(\), got null$/],
		[{ store: {} }, /^store: .*, got an object$/],
		// The rest could be a password.
		[{ store: "postgres://user:s3cret@host" }, /^store: .*, got "postgres:\/\/…"$/],
		[{ store: "host=a password=s3cret" }, /^store: .*, got "host=a password=…"$/],
		[{ store, storeMode: "off" }, /^storeMode: expected "auto" or "required", got "off"$/],
		[{ store, storeTimeoutMs: 0 }, /^storeTimeoutMs: .* from 1 to 60000, got 0$/],
		[{ store, storeTimeoutMs: 1e9 }, /^storeTimeoutMs: /],
		[{ storeMode: "auto" }, /^storeMode: expected a store for it, in the option store, got none$/],
		[{ stor: store }, /did you mean store\?/],
	])
		assert.throws(() => new Scorer(options), { code: "INVALID_OPTION", message });
});

test("a call of a scorer with a store rejects for invalid arguments, and never throws", async () => {
	const hostile = {
		toString() {
			throw new Error("hostile");
		},
	};
	const wrong = [undefined, null, 42, Symbol("s"), {}, hostile, Object.create(null)];
	const { scorer } = sharing();
	const one = scorer();
	const methods = [
		"evaluateValue",
		"evaluateValues",
		"explainValue",
		"remember",
		"embed",
		"forget",
		"clear",
		"warmup",
		"snapshot",
		"save",
	];
	for (const method of methods)
		for (const value of wrong)
			for (const options of [undefined, { signal: value ?? 5 }, { unknown: 1 }]) {
				const called = one[method](value, options);
				assert.ok(called instanceof Promise, method);
				await called.catch(() => {});
			}
});
