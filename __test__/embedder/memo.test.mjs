import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { draws, repeats, seed } from "../support/draws.mjs";
import { assertSame } from "../support/scores.mjs";
import { says, trace, words } from "../support/traces.mjs";

/** More texts than the memo of the embedder holds. */
const MANY = 1_100;

/**
 * Scores `input.traces`, with `input.width` calls in flight. At each index in `input.forget` the
 * embedder is replaced by a new one, which has an empty memo; the cache stays.
 */
async function score({ scoring, input }) {
	const { scoreInFlight } = await import("./support/scores.mjs");
	const { precision = "exact", traces, width, forget } = input;
	scoring.configure({ precision });
	const scores = [];
	const ends = [...forget.filter((index) => index > 0), traces.length];
	for (const end of ends) {
		const part = traces.slice(scores.length, end);
		scores.push(...(await scoreInFlight(scoring, part, width)));
		scoring.configure({ precision: precision === "fast" ? "exact" : "fast" });
		scoring.configure({ precision });
	}
	return { scores, cacheSize: scoring.status().cacheSize };
}

/** Texts of all lengths in a random order, each several times, in traces that differ otherwise. */
function repeated(count) {
	const texts = [600, 120, 30, 8, 1, 0].map((length, i) => words(length, i));
	const { number, of } = draws(seed);
	return Array.from({ length: count }, () => {
		const content = of(texts);
		const tools = of([[], ["a"], ["a", "b"], ["a", "b", "c"]]);
		return trace({
			objective: of(["Read", "Write"]),
			domain: of(["code", "finance", "general"]),
			success: number() < 0.5,
			confidence: number(),
			steps: [
				{ type: "observation", content },
				...tools.map((name) => ({ type: "tool_call", tool: { name } })),
			],
		});
	});
}

for (const precision of ["exact", "fast"]) {
	test(`evaluateValue scores texts of the memo as new ones, ${precision}`, async () => {
		const traces = repeated(12);
		const input = { precision, traces, width: 1 };
		const forgetful = await valueFrom(score, {
			input: { ...input, forget: traces.map((_, index) => index) },
		});
		for (const width of [1, 8]) {
			const found = await valueFrom(score, { input: { ...input, width, forget: [] } });
			assertSame(found.scores, forgetful.scores, `KP_SEED=${seed}, ${width} in flight`);
		}
	});
}

test("evaluateValue scores more texts than the memo holds as new ones", async () => {
	const texts = Array.from({ length: MANY }, (_, i) => says(`${words(1, i)} ${i}`));
	// Some that are in the memo, and some that have left it.
	const traces = [...texts, ...texts.slice(-200).toReversed(), ...texts.slice(0, 50)];
	// Between these indices, no text is repeated.
	const forget = [texts.length];
	const forgetful = await valueFrom(score, {
		input: { precision: "fast", traces, width: 16, forget },
	});
	const found = await valueFrom(score, {
		input: { precision: "fast", traces, width: 16, forget: [] },
	});
	assertSame(found.scores, forgetful.scores);
	assert.ok(new Set(found.scores).size > MANY / 2, "hardly two alike");
	assert.deepEqual([found.cacheSize, forgetful.cacheSize], [1000, 1000]);
});

for (const [name, value] of Object.entries({ short: says("once"), long: says(words(2000, 1)) })) {
	test(`evaluateValue scores 100 identical texts in flight one after the other: ${name}`, async () => {
		const traces = Array(100).fill(value);
		const input = { traces, width: 1, forget: [] };
		const alone = await valueFrom(score, { input });
		for (let round = 0; round < repeats(1); round++) {
			const found = await valueFrom(score, { input: { ...input, width: 100 } });
			assertSame(found.scores, alone.scores, `round ${round}`);
			assert.equal(found.cacheSize, 100, "one entry for each call");
		}
		assert.ok(alone.scores[0] > alone.scores[1] + 0.1, "the first is new");
		for (const score of alone.scores.slice(2))
			assert.ok(Math.abs(score - alone.scores[1]) < 1e-6, String(score));
	});
}

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
	test(`explainValue finds two texts ${same ? "the same" : "different"}: ${name}`, async () => {
		_getLocalCache().clear();
		// Twice, so that the memo has the first text.
		await evaluateValue(says(first));
		await evaluateValue(says(first));
		const { novelty } = await explainValue(says(second));
		assert.equal(novelty.maxSimilarity > 0.999999, same, String(novelty.maxSimilarity));
	});
}
