import assert from "node:assert/strict";
import { test } from "node:test";
import { assertClose, explainAlone } from "../support/reports.mjs";
import { trace } from "../support/traces.mjs";

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
	test(`evaluateValue gives the domain ${JSON.stringify(domain)} the weights of ${profile}`, async () => {
		const report = await explainAlone(trace({ domain }));
		const [complexity, novelty, toolDiversity, outcomeConfidence] = profiles[profile];
		assert.equal(report.profile, profile);
		assert.deepEqual(report.weights, { complexity, novelty, toolDiversity, outcomeConfidence });
		const expected = 0.135 * complexity + 0.5 * novelty + 0.8 * outcomeConfidence;
		assertClose(report.score, expected, domain);
	});
}
