import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as scoring from "@knowledgepulse/scoring";
import { evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { trace } from "../support/traces.mjs";

test("ES modules and CommonJS get the same exports", () => {
	const commonJs = createRequire(import.meta.url)("@knowledgepulse/scoring");
	assert.deepEqual(Object.keys(scoring).sort(), Object.keys(commonJs).sort());
	for (const [name, exported] of Object.entries(scoring)) {
		assert.equal(exported, commonJs[name], name);
		assert.equal(typeof exported, "function", name);
	}
});

test("evaluateValue and explainValue return a promise for any argument", async () => {
	const inputs = [trace(), undefined, null, 0, 1n, "", "trace", Symbol("s"), () => {}, []];
	for (const input of inputs) {
		const promises = [evaluateValue(input), explainValue(input)];
		for (const promise of promises) {
			assert.ok(promise instanceof Promise, String(input));
		}
		await Promise.allSettled(promises);
	}
	await assert.rejects(evaluateValue(), { code: "INVALID_TRACE" });
});
