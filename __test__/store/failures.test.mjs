import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Scorer, ScoringError } from "@knowledgepulse/scoring";
import { run } from "../support/child.mjs";
import { named, sharing } from "../support/stores.mjs";
import { trace } from "../support/traces.mjs";

const failure = () => Promise.reject(new Error("connection refused"));
const [first, second] = [named("first", "A red boat"), named("second", "Taxes")];

test("a call whose answer was lost is repeated, and is in the store once", async () => {
	const { namespaces, scorer, scorerThrough } = sharing();
	let lost = 0;
	const append = async (append) => {
		const page = await append();
		if (page.head === 1 || lost === 2) return page;
		lost += 1;
		throw new Error("socket hang up");
	};
	const one = scorerThrough({ append });
	await one.evaluateValue(second);
	const report = await one.explainValue(first);
	assert.equal(report.novelty.seq, 2);
	assert.equal(lost, 2);
	assert.equal(namespaces.get("test").head, 2);
	assert.equal((await scorer().explainValue(first)).novelty.seq, 3);
});

test("a store that fails is asked three times, then not for a second", async () => {
	let asked = 0;
	const { scorerThrough } = sharing();
	const append = (append) => {
		asked += 1;
		return asked <= 3 ? failure() : append();
	};
	const scorer = scorerThrough({ append });
	const { novelty, dimensions } = await scorer.explainValue(first);
	assert.deepEqual(novelty, {
		source: "no-store",
		maxSimilarity: null,
		nearest: null,
		seq: null,
		reason: "connection refused",
	});
	assert.equal(dimensions.novelty, 0.5);
	assert.equal(scorer.status().store.state, "unavailable");
	assert.equal(scorer.status().store.reason, "connection refused");
	// Immediately, although the store would answer.
	assert.equal((await scorer.explainValue(first)).novelty.reason, "connection refused");
	assert.equal(asked, 3);
	while ((await scorer.explainValue(second)).novelty.source === "no-store")
		await new Promise((resolve) => setTimeout(resolve, 50));
	assert.equal(asked, 4);
	assert.deepEqual([scorer.status().store.state, scorer.status().store.reason], ["ready", null]);
});

test("calls reject with a required store, or if they have no neutral result", async () => {
	const { scorerThrough } = sharing();
	const failing = (options) => scorerThrough({ append: failure, read: failure }, options);
	const unavailable = { code: "STORE_UNAVAILABLE", message: "connection refused" };
	const required = failing({ storeMode: "required" });
	const calls = [
		required.evaluateValue(first),
		required.explainValue(first),
		required.evaluateValue(first, { remember: false }),
		required.remember(first),
		required.forget("first"),
		required.clear(),
		required.warmup(),
	];
	await Promise.all(calls.map((call) => assert.rejects(call, unavailable)));
	const auto = failing();
	await assert.rejects(auto.remember(first), unavailable);
	await assert.rejects(auto.forget("first"), unavailable);
	await assert.rejects(auto.clear(), unavailable);
	assert.equal(
		await auto.evaluateValue(first, { remember: false }),
		await new Scorer().evaluateValue(first, { remember: false }),
	);
	const { store: status } = await auto.warmup();
	assert.equal(status.state, "unavailable");
	assert.equal(auto.status().calls.failed, 3);
});

test("a store that does not answer is given up after storeTimeoutMs", async () => {
	const signals = [];
	const append = (_append, _entries, { signal }) => {
		signals.push(signal);
		return new Promise(() => {});
	};
	const scorer = sharing().scorerThrough({ append }, { storeTimeoutMs: 20 });
	const { novelty } = await scorer.explainValue(first);
	assert.equal(novelty.reason, "the store did not answer within 20 ms");
	assert.deepEqual(
		signals.map(({ aborted }) => aborted),
		[true, true, true],
	);
});

test("the first failure of a store emits one process warning", async () => {
	const body = async ({ scoring, input }) => {
		const warnings = [];
		process.on("warning", ({ code, message }) => warnings.push({ code, message }));
		const append = () => Promise.reject(new Error("no route"));
		const store = { append, read: append };
		for (let i = 0; i < 3; i += 1) await new scoring.Scorer({ store }).evaluateValue(input);
		await new Promise(setImmediate);
		return warnings;
	};
	const { value } = await run(body, { input: trace() });
	assert.equal(value.length, 1);
	assert.equal(value[0].code, "KNOWLEDGEPULSE_NO_STORE");
	assert.match(value[0].message, /every novelty is 0\.5: no route$/);
});

test("another model or other bounds are STORE_MISMATCH in either mode", async () => {
	const { scorer, namespaces } = sharing();
	await scorer().evaluateValue(first);
	for (const [options, message] of [
		[{ novelty: "run" }, /has model \w+, this scorer run 2: \w+$/],
		[{ novelty: "words" }, /has model \w+, this scorer words 2$/],
		[{ cache: { maxElements: 7 } }, /has maxElements 1000, this scorer 7$/],
		[{ cache: { ttlMs: 5 } }, /has ttlMs null, this scorer 5$/],
	])
		for (const storeMode of ["auto", "required"]) {
			const other = scorer({ ...options, storeMode });
			const mismatch = { name: "ScoringError", code: "STORE_MISMATCH", message };
			await assert.rejects(other.evaluateValue(first), mismatch);
			await assert.rejects(other.evaluateValue(first, { remember: false }), mismatch);
			const { state, reason } = other.status().store;
			assert.equal(state, "unavailable");
			assert.match(reason, message);
		}
	assert.equal(namespaces.get("test").head, 1);
});

test("errors of a store with a lasting code reject in either mode, and are not repeated", async () => {
	const { scorerThrough } = sharing();
	let asked = 0;
	const append = async () => {
		asked += 1;
		throw new ScoringError("the schema is older", { code: "STORE_MISMATCH" });
	};
	const scorer = scorerThrough({ append });
	for (const count of [1, 2]) {
		await assert.rejects(scorer.evaluateValue(first), {
			code: "STORE_MISMATCH",
			message: "the schema is older",
		});
		assert.equal(asked, count);
	}
});

test("a store that has lost acknowledged entries is read again", async () => {
	const { scorer, namespaces } = sharing();
	const [one, other] = [scorer(), scorer()];
	await one.evaluateValue(first);
	await one.evaluateValue(second);
	const found = namespaces.get("test");
	// A crash that loses the last commit, after which another process continues.
	found.entries.pop();
	found.head -= 1;
	await other.evaluateValue(named("third", "A red boat"));
	const { novelty } = await one.explainValue(second);
	assert.deepEqual([novelty.seq, novelty.source], [3, "store"]);
	assert.notEqual(novelty.nearest, "second");
	assert.equal(one.status().cacheSize, 3);
});

test("a store that was deleted is read from its beginning", async () => {
	const { scorer, namespaces } = sharing();
	const one = scorer();
	await one.evaluateValue(first);
	namespaces.clear();
	const { novelty } = await one.explainValue(first);
	assert.deepEqual([novelty.seq, novelty.maxSimilarity], [1, null]);
});

/** Stores whose every page follows `change`, until that has been too often. */
function changing(change) {
	const pages = { count: 0 };
	const page = async (_real, ...parameters) => {
		pages.count += 1;
		if (pages.count > 50) throw new Error("too many pages");
		return change(...parameters);
	};
	return { pages, on: { append: page, read: (real, options) => page(real, [], options) } };
}

const forgets = (count) =>
	Array.from({ length: count }, () => ({ kind: "forget", call: randomUUID(), id: "x" }));

const send = (store, entries, options) =>
	entries.length > 0 ? store.append(entries, { keepFrom: null, ...options }) : store.read(options);

test("a call is appended although others append faster than its scorer reads", async () => {
	const { namespaces, open, scorerThrough } = sharing();
	const store = open();
	const { pages, on } = changing(async (entries, options) => {
		await send(store, forgets(200), options);
		return send(store, entries, options);
	});
	const scorer = scorerThrough(on, { storeMode: "required" });
	const { novelty } = await scorer.explainValue(first);
	const { entries } = namespaces.get("test");
	assert.equal(entries[novelty.seq - 1].id, "first");
	// A peek has to know what was there before it, not what comes meanwhile.
	await scorer.evaluateValue(first, { remember: false });
	assert.ok(pages.count < 12, `${pages.count} pages`);
});

test("a store that always begins anew is unavailable", async () => {
	const { open, scorerThrough } = sharing();
	const store = open();
	let isFilled = false;
	const { pages, on } = changing(async (entries, options) => {
		if (!isFilled) await send(store, forgets(400), options);
		isFilled = true;
		return send(store, entries, { ...options, after: null });
	});
	const scorer = scorerThrough(on, { storeMode: "required" });
	const message = "the store began anew 4 times";
	await assert.rejects(scorer.explainValue(first), { code: "STORE_UNAVAILABLE", message });
	assert.equal(pages.count, 12);
});
