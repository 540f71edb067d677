import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
	_getLocalCache,
	evaluateValue,
	explainValue,
	status,
	warmup,
} from "../index.mjs";
import {
	assertQuiet,
	run,
	valueFrom,
	valueWithoutEmbedder,
} from "./lib/child.mjs";
import { temporaryFolder } from "./lib/model-folder.mjs";
import { says, trace, words } from "./lib/traces.mjs";

/** A trace of one thought, which scores 0.1 however new it is. */
function thought(text, changes) {
	const steps = [{ type: "thought", content: text }];
	return trace({ objective: "", ...changes, steps });
}

/** Waits until all traces so far are in the cache, and drops them. */
async function emptyCache() {
	await warmup();
	_getLocalCache().clear();
}

describe("the value of a single thought", () => {
	const step = (rest) => [{ type: "thought", content: "It rains", ...rest }];
	const rows = [
		["plain", step({}), 0.1],
		["empty", step({ content: "" }), 0.1],
		["without content", [{ type: "thought" }], 0.1],
		["longer than the window", step({ content: words(3000, 1) }), 0.1],
		["with no tool", step({ tool: null }), 0.1],
		["with a tool", step({ tool: { name: "a" } }), 0],
		["with a tool without a name", step({ tool: {} }), 0],
		["with a tool with an empty name", step({ tool: { name: "" } }), 0],
	];
	const others = {
		"as usual": {},
		failed: { success: false },
		"certain, in finance": { domain: "finance", confidence: 1 },
		"doubtful, in code": { domain: "code", confidence: 0 },
	};
	for (const [name, steps, expected] of rows) {
		test(`${name} is ${expected}, and the report says the same`, async () => {
			for (const [how, changes] of Object.entries(others)) {
				await emptyCache();
				const value = trace({ ...changes, steps });
				for (const round of ["first", "second"]) {
					const found = await evaluateValue(value);
					assert.ok(Object.is(found, expected), `${how}, ${round}: ${found}`);
					const { score, overrides } = await explainValue(value);
					assert.ok(Object.is(score, expected), `${how}, ${round}: ${score}`);
					assert.equal(overrides[0].name, "single-thought", how);
				}
			}
		});
	}

	const almost = {
		nothing: [],
		"two thoughts": [...step({}), ...step({})],
		"an observation": [{ type: "observation", content: "It rains" }],
		"a Thought": [{ type: "Thought", content: "It rains" }],
		"a thought and a tool": [...step({}), { type: "tool_call", tool: {} }],
	};
	for (const [name, steps] of Object.entries(almost)) {
		test(`is not that of ${name}, which depends on what was before`, async () => {
			const value = trace({ steps });
			await emptyCache();
			const first = await evaluateValue(value);
			const second = await evaluateValue(value);
			assert.ok(first > second, `${first}, then ${second}`);
		});
	}
});

describe("a single thought", () => {
	test("does not wait for what was submitted before it", async () => {
		const input = {
			heavy: Array.from({ length: 16 }, (_, i) => says(words(600, i))),
			thoughts: [thought("It rains"), thought(words(600, 99)), thought("")],
		};
		const body = async ({ scoring, input }) => {
			const settled = [];
			const note = (call, name) => call.then(() => settled.push(name));
			const calls = [];
			for (const [i, value] of input.heavy.entries())
				calls.push(note(scoring.evaluateValue(value), `heavy ${i}`));
			for (const [i, value] of input.thoughts.entries())
				calls.push(note(scoring.evaluateValue(value), `thought ${i}`));
			const explained = scoring.explainValue(input.thoughts[0]);
			calls.push(note(explained, "explained"));
			await Promise.all(calls);
			return [settled, (await explained).novelty, scoring.status().cacheSize];
		};
		const [settled, novelty, cacheSize] = await valueFrom(body, { input });
		// Nothing was loaded, so none of the heavy ones can have been ready.
		const thoughts = input.thoughts.map((_, i) => `thought ${i}`);
		const heavy = input.heavy.map((_, i) => `heavy ${i}`);
		assert.deepEqual(settled, [...thoughts, ...heavy, "explained"]);
		assert.ok(novelty.maxSimilarity > 0.999999, "it sees its own thought");
		assert.equal(cacheSize, 20);
	});

	test("is in the cache for what comes after it", async () => {
		await emptyCache();
		const call = evaluateValue(thought("The harbour was quiet"));
		const other = explainValue(says("TypeError: x is not a function"));
		const same = explainValue(says("The harbour was quiet"));
		assert.equal(await call, 0.1);
		const { novelty } = await other;
		assert.equal(novelty.source, "cache", "the thought was before it");
		assert.ok(novelty.maxSimilarity < 0.9, String(novelty.maxSimilarity));
		const found = (await same).novelty.maxSimilarity;
		assert.ok(found > 0.999999, String(found));
		assert.equal(status().cacheSize, 3);
	});

	test("is compared with nothing after it", async () => {
		await emptyCache();
		const first = explainValue(says("The harbour was quiet"));
		evaluateValue(thought("The harbour was quiet"));
		assert.equal((await first).novelty.source, "empty-cache");
		await warmup();
		assert.equal(status().cacheSize, 2);
	});

	for (const [after, isThere] of [
		[999, true],
		[1000, false],
	]) {
		test(`is ${isThere ? "still" : "no longer"} there after ${after} others`, async () => {
			await emptyCache();
			const text = "TypeError: x is not a function";
			evaluateValue(says("the very first one"));
			evaluateValue(thought(text));
			for (let i = 0; i < after; i++)
				evaluateValue(i % 2 ? says(words(1, i)) : thought(words(1, i)));
			const { novelty } = await explainValue(says(text));
			const found = novelty.maxSimilarity;
			assert.ok(isThere ? found > 0.999999 : found < 0.9, String(found));
			assert.equal(status().cacheSize, 1000);
		});
	}

	test("has its novelty in the report", async () => {
		await emptyCache();
		const first = await explainValue(thought("It rains"));
		assert.equal(first.novelty.source, "empty-cache");
		assert.equal(first.dimensions.novelty, 0.5);
		await evaluateValue(thought("It rains"));
		const { novelty, dimensions, overrides, score } = await explainValue(
			thought("It rains"),
		);
		assert.equal(score, 0.1);
		assert.ok(novelty.maxSimilarity > 0.999999);
		assert.ok(dimensions.novelty < 1e-6, String(dimensions.novelty));
		assert.deepEqual(
			overrides.map(({ name, after }) => [name, after]),
			[["single-thought", 0.1]],
		);
		assert.equal(status().cacheSize, 3);
	});

	test("that is no valid trace rejects, and leaves no mark", async () => {
		await emptyCache();
		for (const confidence of [2, Number.NaN, "1", undefined]) {
			const bad = { ...thought("It rains"), outcome: { confidence } };
			await assert.rejects(evaluateValue(bad), {
				code: "INVALID_TRACE",
				path: "outcome.confidence",
			});
		}
		await warmup();
		assert.equal(status().cacheSize, 0);
	});
});

describe("a single thought in a process of its own", () => {
	const value = ({ scoring, input }) => scoring.evaluateValue(input);

	test("is all that it scores", async () => {
		const ended = await run(value, { input: thought(words(600, 1)) });
		assertQuiet(ended);
		assert.equal(ended.value, 0.1);
	});

	test("is scored before process.exit()", async () => {
		const body = async ({ scoring, input, send }) => {
			send(await scoring.evaluateValue(input));
			process.exit(0);
		};
		const ended = await run(body, { input: thought(words(600, 1)) });
		assertQuiet(ended);
		assert.equal(ended.value, 0.1);
	});

	test("is scored without an embedder, which the next call tells of", async () => {
		const found = await valueWithoutEmbedder(
			async ({ scoring, input }) => {
				const scores = await Promise.all(input.map(scoring.evaluateValue));
				const { novelty, score } = await scoring.explainValue(input[0]);
				return [scores, score, novelty.source, scoring.status().cacheSize];
			},
			{ input: [thought("It rains"), thought("It does not")] },
		);
		assert.deepEqual(found, [[0.1, 0.1], 0.1, "no-embedder", 0]);
	});

	test("rejects when the embedder is required, and absent", async (t) => {
		const nowhere = join(temporaryFolder(t), "nowhere");
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const { code } = await scoring.evaluateValue(input).catch((e) => e);
				const { pending, cacheSize } = scoring.status();
				return { code, pending, cacheSize };
			},
			{
				input: thought("It rains"),
				env: {
					KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
					KNOWLEDGEPULSE_SCORING_MODEL_DIR: nowhere,
				},
			},
		);
		const code = "EMBEDDER_UNAVAILABLE";
		assert.deepEqual(found, { code, pending: 0, cacheSize: 0 });
	});

	test("is in the cache when it resolves, where the embedder is required", async () => {
		const found = await valueFrom(
			async ({ scoring, input }) => [
				await scoring.evaluateValue(input),
				scoring.status().cacheSize,
			],
			{
				input: thought("It rains"),
				env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "required" },
			},
		);
		assert.deepEqual(found, [0.1, 1]);
	});
});
