import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { _getLocalCache, evaluateValue, explainValue } from "../index.mjs";
import { valueFrom } from "./lib/child.mjs";
import { assertSame } from "./lib/scores.mjs";
import { random, says, trace, words } from "./lib/traces.mjs";

/** More than the texts that an embedder remembers. */
const MANY = 1_300;

/**
 * Scores `input.traces`, with `input.width` calls in flight. At each index in `input.forget` the
 * embedder is replaced by a new one, which remembers nothing; the cache stays.
 */
async function score({ scoring, input }) {
	const { scoreInFlight } = await import("./lib/in-flight.mjs");
	const { precision = "exact", traces, width, forget } = input;
	scoring.configure({ precision });
	const scores = [];
	const ends = [...forget.filter((index) => index > 0), traces.length];
	for (const end of ends) {
		const part = traces.slice(scores.length, end);
		const widths = part.map(() => width);
		scores.push(...(await scoreInFlight(scoring, part, widths)));
		scoring.configure({ precision: precision === "fast" ? "exact" : "fast" });
		scoring.configure({ precision });
	}
	return { scores, cacheSize: scoring.status().cacheSize };
}

/** Texts of all lengths in a random order, each several times, in traces that differ otherwise. */
function repeated(seed, count) {
	const texts = [900, 400, 120, 30, 8, 1, 0].map((length, i) =>
		words(length, i),
	);
	const next = random(seed);
	const pick = (list) => list[Math.floor(next() * list.length)];
	return Array.from({ length: count }, () => {
		const content = pick(texts);
		const tools = pick([[], ["a"], ["a", "b"], ["a", "b", "c"]]);
		return trace({
			objective: pick(["Read", "Write"]),
			domain: pick(["code", "finance", "general"]),
			success: next() < 0.5,
			confidence: next(),
			steps: [
				{ type: "observation", content },
				...tools.map((name) => ({ type: "tool_call", tool: { name } })),
			],
		});
	});
}

describe("a text that was met before scores as one that was not", () => {
	for (const precision of ["exact", "fast"]) {
		test(`in traces that differ otherwise, ${precision}`, async (t) => {
			const seed = Math.floor(Math.random() * 2 ** 32);
			t.diagnostic(`seed: ${seed}`);
			const traces = repeated(seed, 24);
			const input = { precision, traces, width: 1 };
			const forgetful = await valueFrom(score, {
				input: { ...input, forget: traces.map((_, index) => index) },
			});
			for (const width of [1, 4, 16]) {
				const found = await valueFrom(score, {
					input: { ...input, width, forget: [] },
				});
				const name = `seed ${seed}, ${width} in flight`;
				assertSame(found.scores, forgetful.scores, name);
			}
		});
	}

	test("among more than can be remembered", async () => {
		const texts = Array.from({ length: MANY }, (_, i) =>
			says(`${words(1, i)} ${i}`),
		);
		const traces = [...texts, ...texts.toReversed(), ...texts.slice(0, 50)];
		// No text comes twice between those.
		const forget = [texts.length, 2 * texts.length];
		const forgetful = await valueFrom(score, {
			input: { traces, width: 16, forget },
		});
		const found = await valueFrom(score, {
			input: { traces, width: 16, forget: [] },
		});
		assertSame(found.scores, forgetful.scores);
		assert.ok(new Set(found.scores).size > MANY / 2, "hardly two alike");
		assert.deepEqual([found.cacheSize, forgetful.cacheSize], [1000, 1000]);
	});
});

describe("identical texts in flight at once", () => {
	for (const [name, value] of Object.entries({
		short: says("once"),
		long: says(words(2000, 1)),
	})) {
		test(`${name}: the first is new, the others are not`, async () => {
			const traces = Array(100).fill(value);
			const input = { traces, width: 1, forget: [] };
			const alone = await valueFrom(score, { input });
			for (let round = 0; round < 3; round++) {
				const found = await valueFrom(score, {
					input: { ...input, width: 100 },
				});
				assertSame(found.scores, alone.scores, `round ${round}`);
				assert.equal(found.cacheSize, 100, "one entry for each call");
			}
			assert.ok(alone.scores[0] > alone.scores[1] + 0.1, "the first is new");
			for (const score of alone.scores.slice(2))
				assert.ok(Math.abs(score - alone.scores[1]) < 1e-6, String(score));
		});
	}

	test("fill the cache like any others", async () => {
		const many = (count) =>
			Promise.all(Array.from({ length: count }, () => evaluateValue(trace())));
		_getLocalCache().clear();
		const other = says(words(20, 2));
		await evaluateValue(other);
		await many(999);
		assert.equal(_getLocalCache().size, 1000);
		const there = await explainValue(other);
		assert.ok(there.novelty.maxSimilarity > 0.999999, "it is the oldest");
		_getLocalCache().clear();
		await evaluateValue(other);
		await many(1000);
		const gone = await explainValue(other);
		assert.ok(gone.novelty.maxSimilarity < 0.9, "the oldest has gone");
		assert.equal(_getLocalCache().size, 1000);
	});

	test("with the cache cleared between them, are new again", async () => {
		for (let round = 0; round < 3; round++) {
			_getLocalCache().clear();
			const { novelty } = await explainValue(trace());
			assert.equal(novelty.source, "empty-cache");
			assert.equal(_getLocalCache().size, 1);
		}
	});

	test("in workers that are ended while they work on them", async () => {
		const traces = Array.from({ length: 8 }, (_, i) => says(words(400, i)));
		const alone = await valueFrom(score, {
			input: { traces, width: 1, forget: [] },
		});
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const { startWorker, tells } = await import("./lib/workers.mjs");
				await scoring.warmup();
				const rounds = [];
				for (let round = 0; round < 3; round++) {
					const workers = [0, 1, 2].map(() => startWorker(input, "return"));
					await Promise.all(workers.map((worker) => tells(worker, "called")));
					const calls = input.map(scoring.evaluateValue);
					for (const worker of workers) await worker.terminate();
					rounds.push(await Promise.all(calls));
					scoring._getLocalCache().clear();
					// A new embedder, so that every round has everything to do.
					scoring.configure({ precision: "fast" });
					scoring.configure({ precision: "exact" });
				}
				return rounds;
			},
			{ input: traces },
		);
		for (const [round, scores] of found.entries())
			assertSame(scores, alone.scores, `round ${round}`);
	});
});

describe("what counts as the same text", () => {
	const rows = [
		["case", "The Harbour", "the harbour", true],
		["spaces", "the harbour", "the \t\n harbour ", true],
		["accents", "the harbour", "thé härbour", true],
		["the end of a long text", words(600, 1), `${words(600, 1)} more`, true],
		["one more word", "the harbour", "the harbour bridge", false],
		["the order", "the harbour bridge", "the bridge harbour", false],
		["a repetition", "bridge", "bridge bridge", false],
		["where words end", "harbour bridge", "harbourbridge", false],
		["a full stop", "the harbour", "the harbour.", false],
	];
	for (const [name, first, second, same] of rows) {
		test(`${name} ${same ? "does not matter" : "matters"}`, async () => {
			_getLocalCache().clear();
			// Twice, so that the second text would find the first one remembered.
			await evaluateValue(says(first));
			await evaluateValue(says(first));
			const { novelty } = await explainValue(says(second));
			assert.equal(
				novelty.maxSimilarity > 0.999999,
				same,
				String(novelty.maxSimilarity),
			);
		});
	}
});
