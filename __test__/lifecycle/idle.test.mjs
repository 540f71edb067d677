import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertEndedWell, assertQuiet, run, valueFrom } from "../support/child.mjs";
import { says, trace, words } from "../support/traces.mjs";

/** Texts that fill the window, with short ones between them. */
const texts = (count) => Array.from({ length: count }, (_, i) => says(words(i % 5 ? 450 : 5, i)));

describe("the natural end of a process", { concurrency: 2 }, () => {
	test("a process ends by itself when its promises have settled", async () => {
		const ended = await run(
			({ scoring, input, send }) => {
				for (const value of input) scoring.evaluateValue(value).then(send);
			},
			{ input: texts(20) },
		);
		assertQuiet(ended);
		assert.equal(ended.values.length, 20);
	});

	test("a process that scores again and again ends by itself", async () => {
		const values = await valueFrom(
			async ({ scoring, input }) => {
				const scores = [await scoring.evaluateValue(input)];
				for (let i = 0; i < 3; i++) {
					await new Promise((resolve) => setTimeout(resolve, 20));
					scores.push(await scoring.evaluateValue(input));
				}
				return scores;
			},
			{ input: trace() },
		);
		assert.equal(values.length, 4);
	});

	test("a process does the work that begins in beforeExit", async () => {
		const ended = await run(
			async ({ scoring, input, send }) => {
				process.once("beforeExit", () => scoring.evaluateValue(input).then(send));
			},
			{ input: trace() },
		);
		assertQuiet(ended);
		assert.equal(typeof ended.value, "number");
	});

	test("a process that is idle ends by itself", async () => {
		const idle = {
			"after the import": () => {},
			"with a cache": ({ scoring }) => {
				globalThis.kept = [scoring._getLocalCache(), new scoring.VectorCache()];
			},
			"after a rejected call": ({ scoring }) => scoring.evaluateValue({}).catch(() => {}),
			"after a score": async ({ scoring, input }) => {
				await scoring.evaluateValue(input);
			},
		};
		for (const body of Object.values(idle)) assertQuiet(await run(body, { input: trace() }));
	});
});

test("modules that are loaded many times share one exit listener", async () => {
	const listeners = await valueFrom(async ({ scoring }) => {
		const { createRequire } = await import("node:module");
		const require = createRequire(import.meta.url);
		const listeners = process.listenerCount("exit");
		for (let time = 0; time < 20; time++) {
			for (const file of Object.keys(require.cache))
				if (!file.endsWith(".node")) delete require.cache[file];
			if (require("@knowledgepulse/scoring") === scoring) throw new Error("not loaded again");
		}
		return process.listenerCount("exit") - listeners;
	});
	assert.equal(listeners, 0);
});

test("the addon can be loaded twice", async () => {
	const ended = await run(
		async ({ scoring, input }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(import.meta.url);
			for (const file of Object.keys(require.cache)) delete require.cache[file];
			const again = require("@knowledgepulse/scoring");
			const scores = await Promise.all(
				[again, scoring].map((module) => module.evaluateValue(input)),
			);
			const vectors = [again, scoring].map((module) => new module.VectorCache({ dimensions: 1 }));
			for (const cache of vectors) cache.add([1]);
			return [again === scoring, ...vectors.map(({ size }) => size), ...scores];
		},
		{ input: trace() },
	);
	assertEndedWell(ended);
	const [same, first, second, ...scores] = ended.value;
	assert.deepEqual([same, first, second], [false, 1, 1]);
	for (const score of scores) assert.ok(score > 0 && score < 1, String(score));
});
