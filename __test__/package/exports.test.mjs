import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { trace } from "../support/traces.mjs";

const require = createRequire(import.meta.url);

for (const entry of ["", "/logs", "/calibrate"])
	test(`@knowledgepulse/scoring${entry} exports the same to ES modules and CommonJS`, async () => {
		const scoring = await import(`@knowledgepulse/scoring${entry}`);
		const commonJs = require(`@knowledgepulse/scoring${entry}`);
		assert.deepEqual(Object.keys(scoring).sort(), Object.keys(commonJs).sort());
		for (const [name, exported] of Object.entries(scoring))
			assert.equal(exported, commonJs[name], name);
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
