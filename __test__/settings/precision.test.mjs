import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, ScoringError, status } from "@knowledgepulse/scoring";
import { runs } from "../fixtures/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { trace } from "../support/traces.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_PRECISION";

const FAST = { [VARIABLE]: "fast" };

const expected = 'expected "exact" or "fast", got';

const refused = [
	["slow", `precision: ${expected} "slow"`],
	["", `precision: ${expected} ""`],
	["Fast", `precision: ${expected} "Fast"`],
	["fast ", `precision: ${expected} "fast "`],
	["auto", `precision: ${expected} "auto"`],
	["\ud800", `precision: ${expected}`],
	[null, "precision: expected a string, got null"],
	[true, "precision: expected a string, got true"],
	[32, "precision: expected a string, got 32"],
	[8n, "precision: expected a string, got"],
	[["fast"], "precision: expected a string, got"],
	[new String("fast"), "precision: expected a string, got"],
	[Symbol("fast"), "precision: expected a string, got"],
];

for (const [precision, message] of refused) {
	test(`configure refuses ${message}`, () => {
		const before = status();
		const options = { embedder: "off", model: "elsewhere", precision };
		assert.throws(
			() => configure(options),
			(error) => error instanceof ScoringError && error.message.startsWith(message),
		);
		assert.throws(() => configure(options), { code: "INVALID_OPTION", path: "precision" });
		assert.deepEqual(status(), before, "nothing is changed");
	});
}

test("configure changes the precision, and with it the backend", (t) => {
	t.after(() => configure({ precision: "exact" }));
	const before = status();
	assert.equal(before.embedder.precision, "exact");
	configure({ precision: "fast" });
	const native = { backend: "native", library: null, libraryVersion: null };
	const embedder = { ...before.embedder, ...native, precision: "fast" };
	assert.deepEqual(status(), { ...before, embedder });
	configure({ precision: undefined });
	configure({});
	assert.deepEqual(status(), { ...before, embedder });
});

const rows = [
	["fast", "fast"],
	["exact", "exact"],
	["", "exact"],
];

for (const [value, precision] of rows) {
	test(`${VARIABLE}=${value} selects ${precision}`, async () => {
		const body = ({ scoring }) => scoring.status().embedder.precision;
		const env = { [VARIABLE]: value };
		assert.equal(await valueFrom(body, { env }), precision);
	});
}

test("configure overrides KNOWLEDGEPULSE_SCORING_PRECISION", async () => {
	const body = async ({ scoring, input }) => {
		scoring.configure({ precision: "exact" });
		await scoring.evaluateValue(input[0]);
		return scoring.evaluateValue(input[1]);
	};
	const input = [runs[0], runs[1]];
	const exact = await scoresOf(input, 1);
	assertSame([await valueFrom(body, { input, env: FAST })], [exact[1]]);
});

/** The outcome of every function, at first and after each of `input.changes`. */
const answers = async ({ scoring, input }) => {
	const told = [];
	const calls = {
		evaluateValue: () => scoring.evaluateValue(input.trace),
		explainValue: () => scoring.explainValue(input.trace),
		warmup: () => scoring.warmup(),
		status: async () => scoring.status(),
	};
	for (const change of [{}, ...input.changes]) {
		scoring.configure(change);
		const found = new Set();
		for (const [name, call] of Object.entries(calls)) {
			const { code, message } = await call().catch((error) => error);
			found.add(code ? `${code} ${message}` : `${name} is fine`);
		}
		told.push([...found]);
	}
	return { told, cacheSize: scoring.status().cacheSize };
};

const fine = ["evaluateValue", "explainValue", "warmup", "status"].map((name) => `${name} is fine`);

const invalid = [`INVALID_OPTION ${VARIABLE}: ${expected}`];

for (const value of ["slow", "FAST", " exact", "0"]) {
	test(`${VARIABLE}=${value} is an error until a precision is configured`, async () => {
		const changes = [{ embedder: "auto" }, { precision: "fast" }];
		const found = await valueFrom(answers, {
			input: { trace: trace(), changes },
			env: { [VARIABLE]: value },
		});
		const error = [`${invalid} ${JSON.stringify(value)}`];
		assert.deepEqual(found.told, [error, error, fine]);
		assert.equal(found.cacheSize, 2, "a rejected trace leaves no mark");
	});
}

test("KNOWLEDGEPULSE_SCORING_PRECISION and _EMBEDDER can both be wrong", async () => {
	const changes = [{ embedder: "auto" }, { precision: "exact" }];
	const mode = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
	const found = await valueFrom(answers, {
		input: { trace: trace(), changes },
		env: { [VARIABLE]: "slow", [mode]: "on" },
	});
	const modes = 'expected "auto", "off" or "required", got "on"';
	assert.deepEqual(found.told, [[`INVALID_OPTION ${mode}: ${modes}`], [`${invalid} "slow"`], fine]);
});
