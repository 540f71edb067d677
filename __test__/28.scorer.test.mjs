import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { traces } from "../examples/traces.mjs";
import { Scorer, status } from "../index.mjs";
import { valueFrom } from "./lib/child.mjs";
import { assertAddsUp } from "./lib/reports.mjs";
import { trace, words } from "./lib/traces.mjs";

/** A trace whose score is its novelty, for a scorer with the profile below. */
const profiles = {
	novelty: {
		complexity: 0,
		novelty: 1,
		toolDiversity: 0,
		outcomeConfidence: 0,
	},
};
const novel = (text, id) => ({
	id,
	metadata: { task_domain: "novelty", success: true },
	task: { objective: text },
	steps: [],
	outcome: { confidence: 1 },
});

describe("options", () => {
	const weights = (changes) => ({
		profiles: { mine: { ...profiles.novelty, ...changes } },
	});
	const cores = status().threads;
	const rows = [
		[null, "options", "expected an object, got null"],
		["fast", "options", 'expected an object, got "fast"'],
		[{ precison: "fast" }, "precison", "did you mean precision?"],
		[{ cache: { ttl: 5 } }, "cache.ttl", "did you mean ttlMs?"],
		[
			{ cache: { maxElements: 0 } },
			"cache.maxElements",
			"expected a positive integer, got 0",
		],
		[
			{ cache: { ttlMs: -1 } },
			"cache.ttlMs",
			"expected a number of milliseconds, 0 or more, got -1",
		],
		[{ cache: 5 }, "cache", "expected an object, got 5"],
		[
			{ threads: 0 },
			"threads",
			`expected an integer from 1 to ${cores}, got 0`,
		],
		[
			{ threads: cores + 1 },
			"threads",
			`expected an integer from 1 to ${cores}, got ${cores + 1}`,
		],
		[
			{ budgetMs: "1" },
			"budgetMs",
			'expected a number of milliseconds, 0 or more, got "1"',
		],
		[
			{ profiles: [].concat(1)[0] },
			"profiles",
			"expected an object of weights by domain, got 1",
		],
		[
			weights({ complexity: 0.5 }),
			"profiles.mine",
			"expected weights that sum to 1, got 1.5",
		],
		[
			weights({ complexity: -1, toolDiversity: 1 }),
			"profiles.mine.complexity",
			"got -1",
		],
		[weights({ novelty: Number.NaN }), "profiles.mine.novelty", "got NaN"],
		[
			weights({ novelty: "1" }),
			"profiles.mine.novelty",
			'expected a number, got "1"',
		],
		[
			weights({ novelty: undefined }),
			"profiles.mine.novelty",
			"expected a number, got undefined",
		],
		[weights({ tools: 0 }), "profiles.mine.tools", "an unknown option"],
		[
			{ longText: "all" },
			"longText",
			'expected "window" or "whole", got "all"',
		],
		[
			{ embedder: "on" },
			"embedder",
			'expected "auto", "off" or "required", got "on"',
		],
	];
	for (const [options, path, rest] of rows)
		test(`refuses ${path}: ${rest}`, () => {
			assert.throws(
				() => new Scorer(options),
				(error) => {
					assert.deepEqual([error.code, error.path], ["INVALID_OPTION", path]);
					assert.ok(error.message.includes(rest), error.message);
					return true;
				},
			);
		});

	test("weights may be off by 1e-9", () => {
		new Scorer(weights({ novelty: 1 + 9e-10 }));
		assert.throws(() => new Scorer(weights({ novelty: 1 + 1.1e-9 })));
	});

	test("profiles are added, replaced, and taken by exact name", async () => {
		const scorer = new Scorer({
			embedder: "off",
			profiles: {
				...profiles,
				default: profiles.novelty,
				constructor: profiles.novelty,
			},
		});
		const profile = async (domain) => {
			const { profile, score } = await scorer.explainValue({
				...novel("bread"),
				metadata: { task_domain: domain, success: true },
			});
			return [profile, score === 0.5];
		};
		assert.deepEqual(await profile("novelty"), ["novelty", true]);
		assert.deepEqual(await profile("Novelty"), ["default", true]);
		assert.deepEqual(await profile("constructor"), ["constructor", true]);
		assert.deepEqual(await profile("__proto__"), ["default", true]);
		assert.deepEqual((await profile("code"))[0], "code");
	});

	test("any string names a profile, with NUL or a lone surrogate in it, too", async () => {
		const [other] = Object.values(
			weights({ novelty: 0, complexity: 1 }).profiles,
		);
		// Those of the others would be taken if names were cut off or changed on the way.
		const beside = { "": other, a: other, "\ufffd": other };
		for (const domain of ["a\0b", "\0", "\ud800", "\ud83dx", "__proto__"]) {
			const named = Object.fromEntries([[domain, profiles.novelty]]);
			for (const all of [named, { ...beside, ...named }]) {
				const scorer = new Scorer({ embedder: "off", profiles: all });
				const metadata = { task_domain: domain, success: true };
				const report = await scorer.explainValue({ ...novel("x"), metadata });
				assert.deepEqual(
					[report.profile, report.score],
					[domain.toWellFormed(), 0.5],
					JSON.stringify(domain),
				);
			}
		}
	});
});

describe("scorers", () => {
	test("have a cache each", async () => {
		const [one, other] = [new Scorer({ profiles }), new Scorer({ profiles })];
		assert.equal(await one.evaluateValue(novel("a test that fails")), 0.5);
		assert.equal(await other.evaluateValue(novel("a test that fails")), 0.5);
		assert.ok((await one.evaluateValue(novel("a test that fails"))) < 1e-6);
		assert.deepEqual(
			[one.status().cacheSize, other.status().cacheSize],
			[2, 1],
		);
	});

	test("keep as many traces as they are told, the oldest goes first", async () => {
		const scorer = new Scorer({ profiles, cache: { maxElements: 1 } });
		await scorer.evaluateValue(novel("bread", "a"));
		await scorer.evaluateValue(novel("locks", "b"));
		const { novelty } = await scorer.explainValue(novel("bread"));
		assert.equal(novelty.nearest, "b");
	});

	test("reject what comes after close, and what has no answer by then", async () => {
		const scorer = new Scorer();
		await scorer.warmup();
		const calls = Array.from({ length: 20 }, (_, index) =>
			scorer.evaluateValue(novel(words(400, index))),
		);
		scorer.close();
		const settled = await Promise.allSettled(calls);
		const closed = settled.filter(({ reason }) => reason?.code === "CLOSED");
		assert.ok(closed.length >= 15, `${closed.length} of 20 were still waiting`);
		assert.ok(
			settled.every(
				({ status, reason }) =>
					status === "fulfilled" || reason.code === "CLOSED",
			),
		);
		await assert.rejects(scorer.evaluateValue(trace()), { code: "CLOSED" });
		assert.equal(scorer.status().pending, 0);
		scorer.close();
	});
});

test("an explanation adds up, and names the trace that is nearest", async () => {
	const scorer = new Scorer();
	const seen = new Set();
	for (const one of traces) {
		const report = await scorer.explainValue(one);
		assertAddsUp(report);
		const { novelty, text } = report;
		if (novelty.source === "cache")
			assert.ok(seen.has(novelty.nearest), novelty.nearest);
		assert.ok(text.tokens >= 2 && text.tokens <= 512 && !text.isCut);
		seen.add(one.id);
	}
});

test("what the model saw of a text", async () => {
	const scorer = new Scorer();
	const seen = async (count) =>
		(await scorer.explainValue(novel(Array(count).fill("a").join(" ")))).text;
	assert.deepEqual(await seen(510), {
		tokens: 512,
		windows: 1,
		isCut: false,
		isRemembered: false,
	});
	assert.deepEqual(await seen(511), {
		tokens: 512,
		windows: 1,
		isCut: false,
		isRemembered: false,
	});
	assert.deepEqual(await seen(512), {
		tokens: 512,
		windows: 1,
		isCut: true,
		isRemembered: true,
	});
	assert.deepEqual(await seen(0), {
		tokens: 2,
		windows: 1,
		isCut: false,
		isRemembered: true,
	});
});

describe("the cache as something to manage", () => {
	test("peeking leaves no mark", async () => {
		const scorer = new Scorer({ profiles });
		assert.equal(await scorer.peekValue(novel("bread")), 0.5);
		assert.equal(scorer.status().cacheSize, 0);
		await scorer.remember(novel("bread", "x"));
		assert.ok((await scorer.peekValue(novel("bread"))) < 1e-6);
		assert.equal(scorer.status().cacheSize, 1);
	});

	test("only what is remembered counts, and it can be forgotten", async () => {
		const scorer = new Scorer({ profiles });
		assert.equal(await scorer.remember(novel("bread", "x")), undefined);
		await scorer.remember(novel("locks", "x"));
		await scorer.remember(novel("tides", "y"));
		assert.equal(scorer.forget("z"), 0);
		assert.equal(scorer.forget("x"), 2);
		const { novelty } = await scorer.explainValue(novel("bread"));
		assert.equal(novelty.nearest, "y");
		scorer.clear();
		assert.equal(scorer.status().cacheSize, 0);
		assert.throws(() => scorer.forget(5), {
			code: "INVALID_OPTION",
			path: "id",
		});
	});

	test("remembering needs an embedder", async () => {
		const scorer = new Scorer({ embedder: "off" });
		await assert.rejects(scorer.remember(novel("bread")), {
			code: "EMBEDDER_UNAVAILABLE",
		});
	});

	test("calls take their turns, whatever they do", async () => {
		const scorer = new Scorer({ profiles });
		const slow = words(400, 5);
		const results = await Promise.all([
			scorer.peekValue(novel(slow)),
			scorer.remember(novel(slow)),
			scorer.peekValue(novel(slow)),
			scorer.evaluateValue(novel("short")),
			scorer.peekValue(novel("short")),
		]);
		assert.equal(results[0], 0.5);
		assert.ok(results[2] < 1e-6 && results[3] > 0.1 && results[4] < 1e-6);
	});

	test("the functions of the module manage the default one", async () => {
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const { clear, forget, peekValue, remember, status } = scoring;
				await remember(input);
				const size = status().cacheSize;
				const peeked = await peekValue(input);
				const forgotten = forget(input.id);
				await remember(input);
				clear();
				return { size, peeked, forgotten, left: status().cacheSize };
			},
			{ input: { ...trace(), id: "me" } },
		);
		assert.deepEqual([found.size, found.forgotten, found.left], [1, 1, 0]);
	});
});
