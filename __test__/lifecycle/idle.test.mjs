import assert from "node:assert/strict";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { assertQuiet, run, valueFrom } from "../support/child.mjs";
import { modelFolder, temporaryFolder } from "../support/model-folder.mjs";
import { filling, trace } from "../support/traces.mjs";

describe("the natural end of a process", { concurrency: 2 }, () => {
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
			"after a score with a huge budget": async ({ scoring, input }) => {
				await new scoring.Scorer({ budgetMs: 1e12 }).evaluateValue(input);
			},
		};
		for (const body of Object.values(idle)) assertQuiet(await run(body, { input: trace() }));
	});
});

test("the package can be loaded many times, with one exit listener, and all copies work", async () => {
	const body = async ({ scoring, input }) => {
		const { createRequire } = await import("node:module");
		const require = createRequire(import.meta.url);
		const before = process.listenerCount("exit");
		let again;
		for (let time = 0; time < 20; time++) {
			// With or without the addon.
			for (const file of Object.keys(require.cache))
				if (time % 2 || !file.endsWith(".node")) delete require.cache[file];
			again = require("@knowledgepulse/scoring");
			if (again === scoring) throw new Error("not loaded again");
		}
		const use = async ({ Scorer, ScoringError, VectorCache, configure }) => {
			const scorer = new Scorer();
			const score = await scorer.evaluateValue(input);
			const cache = new VectorCache({ dimensions: 1 });
			cache.add([1]);
			const restored = await Scorer.restore(await scorer.snapshot());
			const errors = [
				await Scorer.restore(new Uint8Array(8)).catch((error) => error),
				await new Promise(() => configure({ weights: 1 })).catch((error) => error),
			];
			return {
				sizes: [cache.size, restored.cache.size],
				score,
				errors: errors.map((error) => error instanceof ScoringError),
			};
		};
		const uses = [await use(again), await use(scoring)];
		return { listeners: process.listenerCount("exit") - before, uses };
	};
	const { listeners, uses } = await valueFrom(body, { input: trace() });
	assert.equal(listeners, 0);
	for (const { score, ...rest } of uses) {
		assert.ok(score > 0 && score < 1, String(score));
		assert.deepEqual(rest, { sizes: [1, 1], errors: [true, true] });
	}
});

/** Every file in a folder, with size and modification time. */
function filesBelow(folder) {
	return readdirSync(folder, { recursive: true })
		.map((name) => {
			const { size, mtimeMs } = statSync(join(folder, name));
			return `${name} ${size} ${mtimeMs}`;
		})
		.sort();
}

test("evaluateValue prints nothing, and writes no file", async (t) => {
	const parent = temporaryFolder(t);
	const xdg = ["CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR"];
	const windows = ["USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMP", "TEMP"];
	const names = ["HOME", "TMPDIR", ...windows, ...xdg.map((name) => `XDG_${name}`)];
	const env = Object.fromEntries(names.map((name) => [name, join(parent, name)]));
	for (const folder of Object.values(env)) mkdirSync(folder);
	const watched = [parent, dirname(modelFolder)];
	const files = watched.map(filesBelow);
	const body = async ({ scoring, input }) => {
		await scoring.evaluateValues(input);
		return scoring.status().embedder.state;
	};
	const ended = await run(body, { input: filling(6), env });
	assertQuiet(ended);
	assert.equal(ended.value, "ready");
	assert.deepEqual(watched.map(filesBelow), files);
});
