import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import * as esm from "../index.mjs";
import { codeReview, finance } from "./fixtures/examples.mjs";
import { valueFrom, valueWithoutEmbedder } from "./lib/child.mjs";
import { assertClose, explainAlone } from "./lib/reports.mjs";
import { trace } from "./lib/traces.mjs";

const { evaluateValue, explainValue } = esm;

describe("the examples of the protocol's documents", () => {
	const scoreIt = ({ scoring, input }) => scoring.evaluateValue(input);
	for (const [name, example] of Object.entries({ codeReview, finance })) {
		test(`${name} in a fresh process`, async () => {
			const score = await valueFrom(scoreIt, { input: example.trace });
			assertClose(score, example.score, "with the embedder");
			const without = await valueWithoutEmbedder(scoreIt, {
				input: example.trace,
			});
			assert.equal(without, score, "without the embedder");
		});
	}
});

describe("the module", () => {
	test("ES modules and CommonJS get the same functions", () => {
		const commonJs = createRequire(import.meta.url)("../index.js");
		assert.deepEqual(Object.keys(esm).sort(), Object.keys(commonJs).sort());
		for (const [name, exported] of Object.entries(esm)) {
			assert.equal(exported, commonJs[name], name);
			assert.equal(typeof exported, "function", name);
		}
	});

	test("a promise comes back, whatever goes in", async () => {
		const inputs = [
			trace(),
			undefined,
			null,
			0,
			1n,
			"",
			"trace",
			Symbol("s"),
			() => {},
			[],
		];
		for (const input of inputs) {
			const promises = [evaluateValue(input), explainValue(input)];
			for (const promise of promises) {
				assert.ok(promise instanceof Promise, String(input));
			}
			await Promise.allSettled(promises);
		}
		await assert.rejects(evaluateValue(), { code: "INVALID_TRACE" });
	});
});

describe("domains", () => {
	const profiles = {
		default: [0.25, 0.35, 0.15, 0.25],
		finance: [0.2, 0.25, 0.1, 0.45],
		code: [0.2, 0.3, 0.3, 0.2],
		medical: [0.15, 0.2, 0.1, 0.55],
		customer_service: [0.2, 0.3, 0.2, 0.3],
	};
	const others = [
		"",
		"Code",
		"code ",
		"code-review",
		"finance\0",
		"constructor",
		"__proto__",
		"toString",
		"\ud800",
	];
	const rows = [
		...Object.keys(profiles).map((name) => [name, name]),
		...others.map((name) => [name, "default"]),
	];
	for (const [domain, profile] of rows) {
		test(`${JSON.stringify(domain)} has the profile ${profile}`, async () => {
			const report = await explainAlone(trace({ domain }));
			const [complexity, novelty, toolDiversity, outcomeConfidence] =
				profiles[profile];
			assert.equal(report.profile, profile);
			assert.deepEqual(report.weights, {
				complexity,
				novelty,
				toolDiversity,
				outcomeConfidence,
			});
			const expected =
				0.135 * complexity + 0.5 * novelty + 0.8 * outcomeConfidence;
			assertClose(report.score, expected, domain);
		});
	}
});
