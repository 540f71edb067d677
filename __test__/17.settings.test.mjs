import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { configure, evaluateValue, status } from "../index.mjs";
import { valueFrom, valueWithoutEmbedder } from "./lib/child.mjs";
import {
	library,
	modelCopy,
	modelDir,
	temporaryFolder,
} from "./lib/model-folder.mjs";
import { trace } from "./lib/traces.mjs";

const testFolder = fileURLToPath(new URL(".", import.meta.url));

describe("configure", () => {
	const modes = 'expected "auto", "off" or "required", got';
	const known =
		"expected one of the options embedder, runtime, precision, modelDir, library, got an unknown option";
	const refused = [
		[undefined, "options", "expected an object, got undefined"],
		[null, "options", "expected an object, got null"],
		["off", "options", 'expected an object, got "off"'],
		[{ embedder: "on" }, "embedder", `${modes} "on"`],
		[{ embedder: "" }, "embedder", `${modes} ""`],
		[{ embedder: false }, "embedder", "expected a string, got false"],
		[{ embedder: null }, "embedder", "expected a string, got null"],
		[{ modelDir: 5 }, "modelDir", "expected a string, got 5"],
		[{ library: {} }, "library", "expected a string, got an object"],
		[{ modeldir: "x" }, "modeldir", `${known} modeldir`],
		[{ embedder: "off", unknown: 1 }, "unknown", `${known} unknown`],
	];
	for (const [options, path, rest] of refused) {
		const message = `${path}: ${rest}`;
		test(`refuses ${message}`, () => {
			const before = status();
			assert.throws(() => configure(options), {
				name: "Error",
				code: "INVALID_OPTION",
				path,
			});
			assert.throws(
				() => configure(options),
				(error) => error.message.startsWith(message.split(", got")[0]),
			);
			assert.deepEqual(status(), before, "nothing is changed");
		});
	}

	test("keeps what a getter of its options has configured", (t) => {
		t.after(() => configure({ modelDir }));
		const nested = {
			get embedder() {
				configure({ modelDir: "inner" });
				return "auto";
			},
		};
		configure(nested);
		assert.equal(status().embedder.modelDir, "inner");
	});

	test("does not take what the prototype has for an option", (t) => {
		Object.prototype.zzz = 1;
		t.after(() => delete Object.prototype.zzz);
		assert.equal(configure({}), undefined);
	});

	test("changes what is named, and nothing else", async (t) => {
		const before = status().embedder;
		t.after(() => configure({ embedder: "auto", modelDir, library }));
		assert.equal(configure({}), undefined);
		assert.deepEqual(status().embedder, before);
		configure({ embedder: undefined, modelDir: undefined, library: undefined });
		assert.deepEqual(status().embedder, before);
		configure({ modelDir: "elsewhere" });
		assert.deepEqual(status().embedder, { ...before, modelDir: "elsewhere" });
		configure({ library: "another" });
		assert.deepEqual(status().embedder, {
			...before,
			modelDir: "elsewhere",
			library: "another",
		});
		configure({ embedder: "required" });
		assert.deepEqual(
			[status().embedder.mode, status().embedder.modelDir],
			["required", "elsewhere"],
		);
		await assert.rejects(evaluateValue(trace()), {
			code: "EMBEDDER_UNAVAILABLE",
			message: /elsewhere/,
		});
	});

	test("what a getter throws comes out", () => {
		const options = {
			get embedder() {
				throw new RangeError("mine");
			},
		};
		assert.throws(() => configure(options), {
			name: "RangeError",
			message: "mine",
		});
	});

	test("the same settings keep the model that is loaded", async () => {
		await evaluateValue(trace());
		assert.equal(status().embedder.state, "ready");
		configure({ embedder: "auto", modelDir, library });
		assert.equal(status().embedder.state, "ready");
	});

	test("calls made before keep the settings that they had", async () => {
		const sources = await valueWithoutEmbedder(
			async ({ scoring, input }) => {
				const some = () =>
					Array.from({ length: 5 }, () => scoring.explainValue(input));
				const calls = some();
				scoring.configure({ embedder: "off" });
				calls.push(...some());
				scoring.configure({ embedder: "auto" });
				calls.push(...some());
				return (await Promise.all(calls)).map(({ novelty }) => novelty.source);
			},
			{ input: trace(), env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" } },
		);
		const five = (source) => Array(5).fill(source);
		assert.deepEqual(sources, [
			"empty-cache",
			...five("cache").slice(1),
			...five("no-embedder"),
			...five("cache"),
		]);
	});

	test("a second library is refused, the first one stays", async (t) => {
		await evaluateValue(trace());
		t.after(() => configure({ library, embedder: "auto" }));
		configure({ library: process.execPath, embedder: "required" });
		await assert.rejects(evaluateValue(trace()), {
			code: "EMBEDDER_UNAVAILABLE",
		});
		configure({ library });
		await evaluateValue(trace());
	});
});

describe("status", () => {
	test("tells how things stand", async () => {
		const states = await valueFrom(
			async ({ scoring, input }) => {
				const states = [scoring.status()];
				const call = scoring.evaluateValue(input);
				states.push(scoring.status());
				await call;
				return [...states, scoring.status()];
			},
			{ input: trace() },
		);
		const [idle, busy, ready] = states;
		const embedder = {
			mode: "auto",
			runtime: "onnxruntime",
			precision: "exact",
			state: "idle",
			reason: null,
			model: null,
			modelDir,
			library,
			libraryVersion: null,
		};
		assert.deepEqual(idle, {
			embedder,
			threads: idle.threads,
			budgetMs: null,
			longText: "window",
			pending: 0,
			cacheSize: 0,
			calls: { answered: 0, failed: 0, aborted: 0, overBudget: 0 },
			latencyMs: null,
		});
		assert.ok(
			Number.isInteger(idle.threads) && idle.threads >= 1,
			String(idle.threads),
		);
		assert.deepEqual([busy.pending, busy.cacheSize], [1, 0]);
		assert.deepEqual(
			[ready.pending, ready.cacheSize, ready.embedder.state],
			[0, 1, "ready"],
		);
		assert.equal(ready.calls.answered, 1);
		const { p50, p90, p99 } = ready.latencyMs;
		assert.ok(p50 > 0 && p50 === p90 && p90 === p99);
		assert.equal(
			ready.embedder.model,
			"sentence-transformers/all-MiniLM-L6-v2",
		);
		assert.match(ready.embedder.libraryVersion, /^1\.\d+\.\d+$/);
	});
});

describe("environment variables", () => {
	const source = async ({ scoring, input }) => {
		const { novelty } = await scoring.explainValue(input);
		return { source: novelty.source, ...scoring.status().embedder };
	};

	test("name model and library, with a relative path or an odd one", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		for (const name of [folder, relative(testFolder, modelDir)]) {
			const env = {
				KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
				KNOWLEDGEPULSE_SCORING_MODEL_DIR: name,
				KNOWLEDGEPULSE_SCORING_LIBRARY: library,
			};
			const found = await valueFrom(source, { input: trace(), env });
			assert.deepEqual(
				[found.source, found.modelDir, found.mode],
				["empty-cache", name, "required"],
			);
		}
	});

	test("that are empty count for nothing", async () => {
		const env = {
			KNOWLEDGEPULSE_SCORING_EMBEDDER: "",
			KNOWLEDGEPULSE_SCORING_MODEL_DIR: "",
			KNOWLEDGEPULSE_SCORING_LIBRARY: "",
		};
		const found = await valueFrom(source, { input: trace(), env });
		assert.deepEqual(
			[found.source, found.mode, found.modelDir, found.library],
			["empty-cache", "auto", modelDir, library],
		);
	});

	test("give way to configure", async (t) => {
		const env = {
			KNOWLEDGEPULSE_SCORING_EMBEDDER: "off",
			KNOWLEDGEPULSE_SCORING_MODEL_DIR: join(temporaryFolder(t), "nowhere"),
		};
		const body = async ({ scoring, input }) => {
			scoring.configure({ embedder: "auto", modelDir: input.modelDir });
			return (await scoring.explainValue(input.trace)).novelty.source;
		};
		assert.equal(
			await valueFrom(body, { input: { trace: trace(), modelDir }, env }),
			"empty-cache",
		);
	});

	test("that name no mode make every call reject, until one is configured", async () => {
		const body = async ({ scoring, input }) => {
			const error = await scoring.evaluateValue(input).catch((error) => error);
			let thrown;
			try {
				scoring.status();
			} catch (error) {
				thrown = error;
			}
			scoring.configure({ embedder: "off" });
			const { novelty } = await scoring.explainValue(input);
			const plain = (error) => ({ ...error, message: error.message });
			return [plain(error), plain(thrown), novelty.source];
		};
		const path = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
		const found = await valueWithoutEmbedder(body, {
			input: trace(),
			env: { [path]: "on" },
		});
		const message = `${path}: expected "auto", "off" or "required", got "on"`;
		const error = { code: "INVALID_OPTION", path, message };
		assert.deepEqual(found, [error, error, "no-embedder"]);
	});
});
