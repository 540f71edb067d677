import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	_getLocalCache,
	evaluateValue,
	explainValue,
	status,
} from "../index.mjs";
import { assertEndedWell, run, valueFrom } from "./lib/child.mjs";
import { trace } from "./lib/traces.mjs";

/** Traces in which reading one place runs `trap`. */
function trapped(trap) {
	const getter = (key, rest = {}) =>
		Object.defineProperty(rest, key, { get: trap, enumerable: true });
	const step = { type: "thought", content: "x", tool: { name: "a" } };
	const steps = (changed) => trace({ steps: [step, changed] });
	const handler = (name) => new Proxy([step], { [name]: trap });
	return {
		metadata: getter("metadata", { ...trace(), metadata: undefined }),
		"metadata.task_domain": {
			...trace(),
			metadata: getter("task_domain", { success: true }),
		},
		"metadata.success": {
			...trace(),
			metadata: getter("success", { task_domain: "x" }),
		},
		task: getter("task", { ...trace(), task: undefined }),
		"task.objective": { ...trace(), task: getter("objective") },
		outcome: getter("outcome", { ...trace(), outcome: undefined }),
		"outcome.confidence": { ...trace(), outcome: getter("confidence") },
		steps: getter("steps", { ...trace(), steps: undefined }),
		"steps[1]": { ...trace(), steps: getter(1, [step]) },
		"steps[1].type": steps(getter("type", { content: "x" })),
		"steps[1].content": steps(getter("content", { type: "thought" })),
		"steps[1].tool": steps(getter("tool", { type: "thought" })),
		"steps[1].tool.name": steps({ type: "thought", tool: getter("name") }),
		"a proxied trace": new Proxy(trace(), { get: trap }),
		"proxied steps": { ...trace(), steps: handler("get") },
	};
}

describe("what a getter throws is what the promise rejects with", () => {
	const thrown = [
		new Error("mine"),
		new TypeError("mine"),
		"a string",
		42,
		null,
		undefined,
		Symbol("s"),
		{ code: "MINE" },
	];
	const places = Object.keys(trapped(() => {}));
	for (const place of places) {
		test(place, async () => {
			for (const value of thrown) {
				const cacheSize = _getLocalCache().size;
				const bad = trapped(() => {
					throw value;
				})[place];
				const promise = evaluateValue(bad);
				const caught = await promise.then(
					() => assert.fail(`${place} was not read`),
					(reason) => ({ reason }),
				);
				assert.ok(
					Object.is(caught.reason, value),
					`${place}: ${String(caught.reason)} for ${String(value)}`,
				);
				assert.equal(_getLocalCache().size, cacheSize, place);
			}
		});
	}

	test("revoked proxies", async () => {
		for (const target of [{}, []]) {
			const { proxy, revoke } = Proxy.revocable(target, {});
			revoke();
			await assert.rejects(evaluateValue(proxy), TypeError);
			await assert.rejects(
				evaluateValue({ ...trace(), steps: proxy }),
				TypeError,
			);
		}
	});
});

describe("a trace that does things while it is read", () => {
	for (const place of Object.keys(trapped(() => {}))) {
		test(`scores another one: ${place}`, async () => {
			_getLocalCache().clear();
			const inner = [];
			const outer = trapped(() => {
				inner.push(explainValue(trace()));
				throw new Error("read");
			})[place];
			await assert.rejects(evaluateValue(outer), { message: "read" });
			const [report] = await Promise.all(inner);
			assert.equal(report.novelty.source, "empty-cache", place);
			assert.equal(_getLocalCache().size, inner.length);
		});
	}

	test("scores the same one, once", async () => {
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
		const similarities = [outer, await inner].map(
			({ novelty }) => novelty.maxSimilarity,
		);
		// Which of the two comes first is open; the second one is a repetition of the first.
		assert.equal(
			similarities.filter((similarity) => similarity === null).length,
			1,
			String(similarities),
		);
		assert.ok(Math.max(...similarities) > 0.999999, String(similarities));
		assert.equal(_getLocalCache().size, 2);
	});

	test("scores itself without end", async () => {
		// With hardly any stack left, Node itself may print that it could not note a rejection.
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
				endings: [
					...new Set(settled.map(({ value, reason }) => value ?? reason.name)),
				],
			};
		});
		assertEndedWell(ended);
		const outcome = ended.value;
		assert.ok(outcome.depth > 10, `depth ${outcome.depth}`);
		for (const ending of outcome.endings)
			assert.ok([0.1, "RangeError"].includes(ending), String(ending));
	});

	test("takes the steps away", async () => {
		const value = trace();
		value.steps = [
			{
				get type() {
					value.steps.length = 1;
					return "thought";
				},
			},
			{ type: "thought" },
		];
		const path = "steps[1]";
		await assert.rejects(evaluateValue(value), { code: "INVALID_TRACE", path });
	});

	test("lies about its length", async () => {
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
			await assert.rejects(
				evaluateValue(lie(length)),
				{ path: "steps[1]" },
				String(length),
			);
		}
	});

	test("clears the cache", async () => {
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
});

test("setters on prototypes have no say in answers and errors", async () => {
	const codes = await valueFrom(
		async ({ scoring, input }) => {
			const { Scorer } = scoring;
			const closed = new Scorer();
			const open = new Scorer();
			const set = () => {
				throw new Error("thrown by a setter");
			};
			const hostile = [Object.prototype, Error.prototype];
			for (const prototype of hostile)
				for (const name of ["code", "path", "score", "embedder"])
					Object.defineProperty(prototype, name, { set, configurable: true });
			const calls = [
				closed.evaluateValue(input),
				open.evaluateValue({}),
				open.explainValue(input),
				open.warmup(),
			];
			closed.close();
			calls.push(closed.evaluateValue(input));
			const settled = await Promise.allSettled(calls);
			return settled.map(({ status, reason }) => reason?.code ?? status);
		},
		{ input: trace() },
	);
	assert.deepEqual(codes, [
		...["CLOSED", "INVALID_TRACE", "fulfilled", "fulfilled", "CLOSED"],
	]);
});

test("nothing is pending in the end", () => {
	assert.equal(status().pending, 0);
});
