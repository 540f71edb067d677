import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { configure, status } from "../index.mjs";
import { runs } from "./fixtures/runs.mjs";
import { valueFrom } from "./lib/child.mjs";
import { files, read } from "./lib/recorded.mjs";
import { assertSame, assertWithin, scoresOf } from "./lib/scores.mjs";
import { says, trace, words } from "./lib/traces.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_PRECISION";
const FAST = { [VARIABLE]: "fast" };
/** What a fast score may be off by, and what an exact one may. */
const FAST_TOLERANCE = 0.006;
const EXACT_TOLERANCE = 1e-4;
/** The similarity of a text to itself, embedded once exactly and once fast, is greater. */
const SIMILARITY = 0.99;

const expected = 'expected "exact" or "fast", got';

function oneByOne(traces, options) {
	return scoresOf(
		traces,
		traces.map(() => 1),
		options,
	);
}

/** Fails unless fast scores are near the right ones, and do not depend on what is in flight. */
async function assertFast(t, traces, right) {
	const fast = await oneByOne(traces, { env: FAST });
	const worst = assertWithin(FAST_TOLERANCE, fast, right);
	t.diagnostic(`largest distance to the right scores: ${worst}`);
	assert.notDeepEqual(fast, right, "fast is not exact");
	const widths = traces.map(() => 16);
	const sideBySide = await scoresOf(traces, widths, { env: FAST });
	assertSame(sideBySide, fast, "16 in flight");
}

/** Scores all traces fast, then exactly, with nothing in the cache at first. */
const fastThenExact = async ({ scoring, input }) => {
	const { scoreInFlight } = await import("./lib/in-flight.mjs");
	const widths = input.map(() => 16);
	scoring.configure({ precision: "fast" });
	await scoreInFlight(scoring, input, widths);
	// A score may be there before its trace has entered the cache; a warm embedder is not.
	await scoring.warmup();
	scoring._getLocalCache().clear();
	scoring.configure({ precision: "exact" });
	return scoreInFlight(scoring, input, widths);
};

describe("fast scores", () => {
	for (const file of files) {
		test(`of ${file} are near the golden ones`, async (t) => {
			const { traces, golden } = read(file);
			const right = golden.map(({ score }) => score);
			await assertFast(t, traces, right);
		});

		test(`of ${file} leave the exact ones after them alone`, async () => {
			const { traces, golden } = read(file);
			const found = await valueFrom(fastThenExact, { input: traces });
			const right = golden.map(({ score }) => score);
			assertWithin(EXACT_TOLERANCE, found, right);
			const beginning = traces.slice(0, 20);
			const alone = await oneByOne(beginning);
			assertSame(found.slice(0, 20), alone);
		});
	}

	test("of runs of our own are near the exact ones, and leave them alone", async (t) => {
		const exact = await oneByOne(runs);
		await assertFast(t, runs, exact);
		assertSame(await valueFrom(fastThenExact, { input: runs }), exact);
	});

	test("are compared with exact ones", async () => {
		const texts = {
			nothing: "",
			"one letter": "a",
			"a lone surrogate": "\ud800",
			pictures: "😀🙂",
			"a long word": "é".repeat(3000),
			"Chinese characters": "漢字".repeat(400),
			punctuation: "!?".repeat(300),
			numbers: "0123456789 ".repeat(200),
			"three words": words(3, 1),
			"more than the window": words(5000, 2),
		};
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const reports = (precision) => {
					scoring.configure({ precision });
					return Promise.all(input.map(scoring.explainValue));
				};
				await reports("exact");
				return [...(await reports("fast")), ...(await reports("exact"))];
			},
			{ input: Object.values(texts).map(says) },
		);
		const names = Object.keys(texts);
		for (const [index, { novelty }] of found.entries()) {
			const { source, maxSimilarity } = novelty;
			const name = `${names[index % names.length]}: ${maxSimilarity}`;
			assert.equal(source, "cache", name);
			assert.ok(maxSimilarity > SIMILARITY && maxSimilarity <= 1, name);
		}
	});
});

describe("configure", () => {
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
		test(`refuses ${message}`, () => {
			const before = status();
			const options = { embedder: "off", modelDir: "elsewhere", precision };
			assert.throws(
				() => configure(options),
				(error) => error instanceof Error && error.message.startsWith(message),
			);
			assert.throws(() => configure(options), {
				code: "INVALID_OPTION",
				path: "precision",
			});
			assert.deepEqual(status(), before, "nothing is changed");
		});
	}

	test("changes the precision, and nothing else", (t) => {
		t.after(() => configure({ precision: "exact" }));
		const before = status();
		assert.equal(before.embedder.precision, "exact");
		configure({ precision: "fast" });
		const embedder = { ...before.embedder, precision: "fast" };
		assert.deepEqual(status(), { ...before, embedder });
		configure({ precision: undefined });
		configure({});
		assert.deepEqual(status(), { ...before, embedder });
	});

	test("the same precision keeps the model, another one loads it, and the cache stays", async () => {
		const body = async ({ scoring, input }) => {
			const told = [];
			for (const precision of ["exact", "exact", "fast", "fast"]) {
				scoring.configure({ precision });
				const before = scoring.status().embedder.state;
				await scoring.evaluateValue(input);
				const { embedder, cacheSize } = scoring.status();
				told.push([before, embedder.precision, embedder.state, cacheSize]);
			}
			return told;
		};
		assert.deepEqual(await valueFrom(body, { input: trace() }), [
			["idle", "exact", "ready", 1],
			["ready", "exact", "ready", 2],
			["idle", "fast", "ready", 3],
			["ready", "fast", "ready", 4],
		]);
	});

	test("calls made before keep the precision that they had", async () => {
		const body = async ({ scoring, input }) => {
			const calls = [];
			for (const [index, value] of input.traces.entries()) {
				scoring.configure({ precision: index % 10 < 5 ? "exact" : "fast" });
				const call = scoring.evaluateValue(value);
				calls.push(input.wait ? await call : call);
			}
			return Promise.all(calls);
		};
		const traces = Array.from({ length: 20 }, (_, i) => says(words(1 + i, i)));
		const [found, awaited] = await Promise.all([
			valueFrom(body, { input: { traces, wait: false } }),
			valueFrom(body, { input: { traces, wait: true } }),
		]);
		assertSame(found, awaited);
	});
});

describe("the environment variable", () => {
	const rows = [
		["fast", "fast"],
		["exact", "exact"],
		["", "exact"],
	];
	for (const [value, precision] of rows) {
		test(`${JSON.stringify(value)} is ${precision}`, async () => {
			const body = ({ scoring }) => scoring.status().embedder.precision;
			const env = { [VARIABLE]: value };
			assert.equal(await valueFrom(body, { env }), precision);
		});
	}

	test("gives way to configure", async () => {
		const body = async ({ scoring, input }) => {
			scoring.configure({ precision: "exact" });
			await scoring.evaluateValue(input[0]);
			return scoring.evaluateValue(input[1]);
		};
		const input = [runs[0], runs[1]];
		const exact = await oneByOne(input);
		assertSame([await valueFrom(body, { input, env: FAST })], [exact[1]]);
	});

	/** What every function says, first as things are, then after each of `input.changes`. */
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
	const fine = ["evaluateValue", "explainValue", "warmup", "status"].map(
		(name) => `${name} is fine`,
	);
	const invalid = [`INVALID_OPTION ${VARIABLE}: ${expected}`];

	for (const value of ["slow", "FAST", " exact", "0"]) {
		test(`${JSON.stringify(value)} is an error until another is configured`, async () => {
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

	test("may be wrong together with that of the mode", async () => {
		const changes = [{ embedder: "auto" }, { precision: "exact" }];
		const mode = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
		const found = await valueFrom(answers, {
			input: { trace: trace(), changes },
			env: { [VARIABLE]: "slow", [mode]: "on" },
		});
		const modes = 'expected "auto", "off" or "required", got "on"';
		assert.deepEqual(found.told, [
			[`INVALID_OPTION ${mode}: ${modes}`],
			[`${invalid} "slow"`],
			fine,
		]);
	});
});
