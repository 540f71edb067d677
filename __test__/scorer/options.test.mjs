import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer, ScoringError, status } from "@knowledgepulse/scoring";
import { novel, profiles } from "../support/traces.mjs";

const weights = (changes) => ({ profiles: { mine: { ...profiles.novelty, ...changes } } });

const cores = status().threads;

const rows = [
	[null, "options", "expected an object, got null"],
	["fast", "options", 'expected an object, got "fast"'],
	[{ precison: "fast" }, "precison", "did you mean precision?"],
	[{ runtime: "rust" }, "runtime", "an unknown option"],
	[{ backend: "rust" }, "backend", 'expected "onnx" or "native", got "rust"'],
	[{ cache: { ttl: 5 } }, "cache.ttl", "did you mean ttlMs?"],
	[{ cache: { maxElements: 0 } }, "cache.maxElements", "expected a positive integer, got 0"],
	[{ cache: { ttlMs: -1 } }, "cache.ttlMs", "expected a number of milliseconds, 0 or more, got -1"],
	[{ cache: 5 }, "cache", "expected an object, got 5"],
	[{ threads: 0 }, "threads", `expected an integer from 1 to ${cores}, got 0`],
	[{ threads: cores + 1 }, "threads", `expected an integer from 1 to ${cores}, got ${cores + 1}`],
	[{ budgetMs: -1 }, "budgetMs", "got -1"],
	[{ budgetMs: Number.NaN }, "budgetMs", "got NaN"],
	[{ budgetMs: "1" }, "budgetMs", 'expected a number of milliseconds, 0 or more, got "1"'],
	[{ profiles: [].concat(1)[0] }, "profiles", "expected an object of weights by domain, got 1"],
	[weights({ complexity: 0.5 }), "profiles.mine", "expected weights that sum to 1, got 1.5"],
	[weights({ complexity: -1, toolDiversity: 1 }), "profiles.mine.complexity", "got -1"],
	[weights({ novelty: Number.NaN }), "profiles.mine.novelty", "got NaN"],
	[weights({ novelty: "1" }), "profiles.mine.novelty", 'expected a number, got "1"'],
	[weights({ novelty: undefined }), "profiles.mine.novelty", "expected a number, got undefined"],
	[weights({ tools: 0 }), "profiles.mine.tools", "an unknown option"],
	[{ longText: "all" }, "longText", 'expected "window" or "whole", got "all"'],
	[{ embedder: "on" }, "embedder", 'expected "auto", "off" or "required", got "on"'],
];

for (const [options, path, rest] of rows)
	test(`Scorer refuses ${path}: ${rest}`, () => {
		assert.throws(
			() => new Scorer(options),
			(error) => {
				assert.ok(error instanceof ScoringError);
				assert.deepEqual([error.code, error.path], ["INVALID_OPTION", path]);
				assert.ok(error.message.includes(rest), error.message);
				return true;
			},
		);
	});

test("Scorer accepts weights that sum to 1 within 1e-9", () => {
	new Scorer(weights({ novelty: 1 + 9e-10 }));
	assert.throws(() => new Scorer(weights({ novelty: 1 + 1.1e-9 })));
});

test("Scorer adds and replaces profiles, and matches domains exactly", async () => {
	const scorer = new Scorer({
		embedder: "off",
		profiles: { ...profiles, default: profiles.novelty, constructor: profiles.novelty },
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
