import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { getEventListeners } from "node:events";
import { createRequire } from "node:module";
import { test } from "node:test";
import { configure, Scorer, status } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { assertRefused } from "../support/refusals.mjs";
import { novel, occupied, profiles, says, trace, words } from "../support/traces.mjs";

const { suggest } = createRequire(import.meta.url)("../../lib/options.js");

const weights = (changes) => ({ profiles: { mine: { ...profiles.novelty, ...changes } } });

const cores = status().threads;

const modes = 'expected "auto", "off" or "required", got';

const choices = { backend: '"onnx" or "native"', precision: '"exact" or "fast"' };

/** Options that configure takes, too. */
const common = [
	[null, "options", "expected an object, got null"],
	["fast", "options", 'expected an object, got "fast"'],
	[{ precison: "fast" }, "precison", "did you mean precision?"],
	[{ embedder: "off", unknown: 1 }, "unknown", "an unknown option"],
	[{ embedder: "on" }, "embedder", `${modes} "on"`],
	[{ embedder: "" }, "embedder", `${modes} ""`],
	[{ embedder: "postgres://user:s3cret@host" }, "embedder", `${modes} "postgres://…"`],
	[{ embedder: false }, "embedder", `${modes} false`],
	[{ embedder: null }, "embedder", `${modes} null`],
	[{ model: 5 }, "model", "expected a string, got 5"],
	[{ library: {} }, "library", "expected a string, got an object"],
	...["onnxruntime", "rust", "", "Native", "native "].map((backend) => [
		{ embedder: "off", backend },
		"backend",
		`expected ${choices.backend}, got "${backend}"`,
	]),
	...["slow", "", "Fast", "fast ", "auto"].map((precision) => [
		{ embedder: "off", model: "elsewhere", precision },
		"precision",
		`expected ${choices.precision}, got "${precision}"`,
	]),
	[{ precision: "\ud800" }, "precision", `expected ${choices.precision}, got`],
	...["backend", "precision"].flatMap((name) =>
		[null, true, 32, 8n, ["fast"], new String("fast"), Symbol("fast")].map((value) => [
			{ embedder: "off", [name]: value },
			name,
			`expected ${choices[name]}, got`,
		]),
	),
	[{ pooling: "max" }, "pooling", '"mean"'],
	[{ normalize: "yes" }, "normalize", 'got "yes"'],
	[{ maxTokens: 0 }, "maxTokens", "got 0"],
	[{ maxTokens: 1.5 }, "maxTokens", "got 1.5"],
	[{ prefix: 5 }, "prefix", "expected a string, got 5"],
	[{ output: null }, "output", "expected a string, got null"],
];

const own = [
	[{ cache: { ttl: 5 } }, "cache.ttl", "did you mean ttlMs?"],
	[{ cache: { maxElements: 0 } }, "cache.maxElements", "expected a positive integer, got 0"],
	[{ cache: { ttlMs: -1 } }, "cache.ttlMs", "expected a number of milliseconds, 0 or more, got -1"],
	[{ cache: 5 }, "cache", "expected an object, got 5"],
	[{ cache: "\u001b[31m\u202e" }, "cache", String.raw`got "\u{1b}[31m\u{202e}"`],
	[{ threads: 0 }, "threads", `expected an integer from 1 to ${cores}, got 0`],
	[{ threads: cores + 1 }, "threads", `expected an integer from 1 to ${cores}, got ${cores + 1}`],
	[{ budgetMs: -1 }, "budgetMs", "got -1"],
	[{ budgetMs: Number.NaN }, "budgetMs", "got NaN"],
	[{ budgetMs: "1" }, "budgetMs", 'expected a number of milliseconds, 0 or more, got "1"'],
	[{ profiles: 1 }, "profiles", "expected an object of weights by domain, got 1"],
	[weights({ complexity: 0.5 }), "profiles.mine", "expected weights that sum to 1, got 1.5"],
	[
		weights({ novelty: 1 + 2e-9 }),
		"profiles.mine",
		"expected weights that sum to 1, got 1.000000002",
	],
	...["1", undefined, -0.5, Number.NaN, Number.POSITIVE_INFINITY].map((novelty) => [
		weights({ novelty }),
		"profiles.mine.novelty",
		"expected a finite number, 0 or more, got",
	]),
	[weights({ tools: 0 }), "profiles.mine.tools", "an unknown option"],
	[{ longText: "whole" }, "longText", "an unknown option"],
	[{ novelty: "all" }, "novelty", 'expected "text", "run" or "words", got "all"'],
];

for (const [options, path, rest] of [...common, ...own])
	test(`Scorer refuses ${path}: ${rest}`, () =>
		assertRefused(() => new Scorer(options), path, rest));

for (const [options, path, rest] of common)
	test(`configure refuses ${path}: ${rest}`, () => {
		const before = status();
		assertRefused(() => configure(options), path, rest);
		assert.deepEqual(status(), before, "nothing is changed");
	});

test("suggest finds the nearest name, the first of several, and only if it is near", () => {
	const known = "maxElements dimensions ttlMs embedder modelPath threads id".split(" ");
	const rows = {
		maxElements: ["maxElement", "max_elements", "MAXELEMENTS", "maxElemnets"],
		dimensions: ["dimension", "dimentions"],
		ttlMs: ["ttlms", "ttl", "ttlSm"],
		modelPath: ["model", "modell", "path"],
		embedder: ["embeder", "embed"],
		threads: ["thread"],
		id: ["ids"],
		undefined: ["tt", "x", "", "capacity", "constructor", "__proto__", "ﾀﾃ👩‍🔬"],
	};
	for (const [expected, names] of Object.entries(rows))
		for (const name of names) assert.equal(String(suggest(name, known)), expected, name);
	for (const [expected, ...known] of [
		["precision", "precisions", "precision"],
		["precisian", "precisian", "precisien"],
		["precisien", "precisien", "precisian"],
	])
		assert.equal(suggest("precisiom", known), expected);
});

test("Scorer accepts any string as the name of a profile", async () => {
	const [other] = Object.values(weights({ novelty: 0, complexity: 1 }).profiles);
	// Their weights would be used if a name were cut off or changed.
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

test("Scorer publishes the score of each trace that it adds on the diagnostics channel", async () => {
	const published = [];
	const listen = (message) => published.push(message);
	const scored = channel("knowledgepulse.scoring.score");
	scored.subscribe(listen);
	const scorer = new Scorer({ novelty: "words" });
	const score = await scorer.evaluateValue(traces[0]);
	const report = await scorer.explainValue(traces[1]);
	await scorer.evaluateValue(traces[2], { remember: false });
	for (const options of [{ embedder: "off" }, { model: "/missing" }, { budgetMs: 0 }]) {
		const other = new Scorer(options);
		await other.evaluateValue(says(words(2000, 1)));
		await other.explainValue(says(words(2000, 2)));
		await other.decide(says(words(2000, 3)), { exact: true, threshold: 0 });
		assert.equal(other.status().cacheSize, 0);
	}
	scored.unsubscribe(listen);
	await scorer.evaluateValue(traces[3]);
	assert.deepEqual(published, [
		{ scorer, trace: traces[0], score, report: undefined },
		{ scorer, trace: traces[1], score: report.score, report },
	]);
});

test("Scorer.close rejects every kind of call with CLOSED", async () => {
	const scorer = new Scorer();
	// The others wait for their turn.
	const first = occupied(scorer);
	const make = [
		() => scorer.evaluateValue(trace()),
		() => scorer.explainValue(trace()),
		() => scorer.evaluateValue(trace(), { remember: false }),
		() => scorer.decide(trace(), { exact: true }),
		() => scorer.remember(trace()),
		() => scorer.forget("x"),
		() => scorer.clear(),
		() => scorer.embed("x"),
		() => scorer.similar("x"),
		() => scorer.evaluateValues([trace()]),
		() => scorer.warmup(),
	];
	const before = make.map((call) => call());
	const snapshot = scorer.snapshot();
	scorer.close();
	const later = make.map((call) => call());
	const closed = { name: "ScoringError", code: "CLOSED" };
	const calls = [...first, ...before, ...later];
	await Promise.all(calls.map((call) => assert.rejects(call, closed)));
	assert.equal(scorer.status().pending, 0);
	scorer.close();
	// The cache of a closed scorer can still be saved.
	assert.ok((await snapshot).length > 0);
});

test("Scorer.close rejects calls that wait for a budget or a signal", async () => {
	const scorer = new Scorer({ budgetMs: 1e12 });
	const { signal } = new AbortController();
	const calls = occupied(scorer, { signal });
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
