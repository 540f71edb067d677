import assert from "node:assert/strict";
import { test } from "node:test";
import {
	_getLocalCache,
	configure,
	evaluateValue,
	evaluateValues,
	explainValue,
	Scorer,
	status,
	VectorCache,
} from "@knowledgepulse/scoring";
import { assertEndedWell, run } from "../support/child.mjs";
import { trace } from "../support/traces.mjs";

const thrown = [
	new Error("mine"),
	new TypeError("mine"),
	"a string",
	42,
	null,
	undefined,
	Symbol("s"),
	{ code: "MINE" },
	Object.assign(new Error("mine"), { code: "INVALID_TRACE", path: "steps" }),
	Object.assign(new Error("mine"), { code: "CLOSED" }),
	await evaluateValue({}).catch((error) => error),
	{ name: "ScoringError", code: "INVALID_TRACE", path: "task", message: "" },
];

test("evaluateValue rejects with what a getter throws, and leaves the cache alone", async () => {
	for (const value of thrown) {
		const cacheSize = _getLocalCache().size;
		const last = {
			get type() {
				throw value;
			},
		};
		const bad = trace({ steps: [{ type: "thought", content: "x" }, last] });
		await assert.rejects(evaluateValue(bad), (reason) => Object.is(reason, value));
		assert.equal(_getLocalCache().size, cacheSize);
	}
});

test("functions that take options throw what a getter of the options throws", async () => {
	for (const value of thrown) {
		const options = (name) => ({
			get [name]() {
				throw value;
			},
		});
		const calls = [
			() => configure(options("embedder")),
			() => new Scorer(options("profiles")),
			() => new VectorCache(options("ttlMs")),
			() => evaluateValue(trace(), options("signal")),
			() => evaluateValues([trace()], options("errors")),
		];
		for (const call of calls)
			await assert.rejects(
				async () => call(),
				(reason) => Object.is(reason, value),
				String(call),
			);
	}
});

test("evaluateValue rejects a revoked proxy with its TypeError", async () => {
	for (const target of [{}, []]) {
		const { proxy, revoke } = Proxy.revocable(target, {});
		revoke();
		await assert.rejects(evaluateValue(proxy), TypeError);
		await assert.rejects(evaluateValue({ ...trace(), steps: proxy }), TypeError);
	}
});

test("evaluateValue lets a getter score the same trace", async () => {
	_getLocalCache().clear();
	let inner;
	const value = trace();
	const steps = [{ type: "observation", content: "They are sorted" }];
	Object.defineProperty(value, "steps", {
		get() {
			inner ??= explainValue({ ...trace(), steps });
			return steps;
		},
	});
	const outer = await explainValue(value);
	const similarities = [outer, await inner].map(({ novelty }) => novelty.maxSimilarity);
	// Either may come first; the second repeats it.
	assert.equal(
		similarities.filter((similarity) => similarity === null).length,
		1,
		String(similarities),
	);
	assert.ok(Math.max(...similarities) > 0.999999, String(similarities));
	assert.equal(_getLocalCache().size, 2);
});

test("evaluateValue lets a getter score its own trace without end", async () => {
	// With little stack left, Node.js itself may print a warning.
	const ended = await run(async ({ scoring }) => {
		const scores = [];
		const value = {
			metadata: { task_domain: "", success: true },
			task: { objective: "" },
			outcome: { confidence: 1 },
		};
		value.steps = [
			{
				get type() {
					scores.push(scoring.evaluateValue(value));
					return "thought";
				},
			},
		];
		scores.push(scoring.evaluateValue(value));
		const settled = await Promise.allSettled(scores);
		return {
			depth: scores.length,
			endings: [...new Set(settled.map(({ value, reason }) => value ?? reason.name))],
		};
	});
	assertEndedWell(ended);
	const outcome = ended.value;
	assert.ok(outcome.depth > 10, `depth ${outcome.depth}`);
	for (const ending of outcome.endings)
		assert.ok([0.1, "RangeError"].includes(ending), String(ending));
});

test("evaluateValue checks steps whose proxy gives a wrong length", async () => {
	const lie = (length) =>
		trace({
			steps: new Proxy([{ type: "thought" }], {
				get: (target, key) => (key === "length" ? length : target[key]),
			}),
		});
	for (const length of [0, -1, Number.NaN, "1", undefined, null, {}]) {
		const score = await evaluateValue(lie(length));
		assert.ok(score >= 0 && score <= 1, `${String(length)}: ${score}`);
	}
	for (const length of [2, 1e6, 2 ** 32, 2 ** 53, Number.POSITIVE_INFINITY]) {
		await assert.rejects(evaluateValue(lie(length)), { path: "steps[1]" }, String(length));
	}
});

test("evaluateValue lets a getter clear the cache", async () => {
	await evaluateValue(trace());
	const value = trace();
	Object.defineProperty(value, "steps", {
		get() {
			_getLocalCache().clear();
			return [];
		},
	});
	assert.equal((await explainValue(value)).novelty.source, "empty-cache");
});

test("status has nothing pending after all getters", () => {
	assert.equal(status().pending, 0);
});
