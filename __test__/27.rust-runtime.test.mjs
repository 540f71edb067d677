import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { configure, status } from "../index.mjs";
import { runs } from "./fixtures/runs.mjs";
import { scoresWhileChanging } from "./lib/changing-files.mjs";
import { run, valueFrom } from "./lib/child.mjs";
import {
	damage,
	modelCopy,
	modelDir,
	readManifest,
	temporaryFolder,
	writeManifest,
} from "./lib/model-folder.mjs";
import { files, read } from "./lib/recorded.mjs";
import { assertSame, assertWithin, scoresOf } from "./lib/scores.mjs";
import { says, trace, words } from "./lib/traces.mjs";
import {
	assertRequired,
	assertWorksWithout,
	literally,
} from "./lib/without-embedder.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_RUNTIME";
const RUST = { [VARIABLE]: "rust" };
const TOLERANCE = 1e-4;
const ONNX_FILES = [
	"exact.onnx",
	"fast.onnx",
	"fast-u8.onnx",
	"fast-weights.onnx",
];

const expected = 'expected "onnxruntime" or "rust", got';

const inRust = (folder, env) => ({
	...RUST,
	KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder,
	...env,
});

/** Scores with so many others in flight. */
const inFlight = (traces, width, env) =>
	scoresOf(
		traces,
		traces.map(() => width),
		{ env },
	);

describe("scores without ONNX Runtime", () => {
	for (const file of files) {
		test(`of ${file} are the golden ones, and those with it`, async (t) => {
			const { traces, golden } = read(file);
			const found = await inFlight(traces, 1, RUST);
			const right = golden.map(({ score }) => score);
			const worst = assertWithin(TOLERANCE, found, right);
			t.diagnostic(`largest distance to the golden scores: ${worst}`);
			assertSame(await inFlight(traces, 16, RUST), found, "16 in flight");
			assertSame(await inFlight(traces, 1, {}), found, "with ONNX Runtime");
		});
	}

	test("of texts of all lengths have the same bits", async () => {
		const lengths = [0, 1, 2, 3, 5, 8, 13, 21, 34, 46, 47, 94, 95, 250, 510];
		const texts = [...lengths, 5000].map((length) => words(length, length));
		const traces = [...texts, "é漢😀\ud800"].map(says);
		const found = await inFlight(traces, 1, RUST);
		assertSame(found, await inFlight(traces, 1, {}));
		assert.ok(new Set(found).size > lengths.length / 2, "hardly two alike");
	});

	test("that are meant to be fast are exact", async () => {
		const fast = { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" };
		const exact = await inFlight(runs, 1, {});
		assertSame(await inFlight(runs, 4, { ...RUST, ...fast }), exact);
		assert.notDeepEqual(await inFlight(runs, 4, fast), exact);
	});

	test("need no library and no graph", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		for (const name of ONNX_FILES) rmSync(join(folder, name));
		const library = join(folder, "nowhere.so");
		const env = inRust(folder, {
			KNOWLEDGEPULSE_SCORING_LIBRARY: library,
			KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
		});
		assertSame(await inFlight(runs, 8, env), await inFlight(runs, 8, {}));
		const without = { ...env, [VARIABLE]: "onnxruntime" };
		await assertRequired(without, literally(library));
	});

	test("are those of the model that was loaded, whatever its files become", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		assert.deepEqual(
			await scoresWhileChanging(folder, ["model.bin"], "something else", RUST),
			await scoresWhileChanging(modelDir, [], "", RUST),
		);
	});

	test("load no library", async (t) => {
		if (process.platform !== "linux") return t.skip("only Linux tells");
		const body = async ({ scoring, input }) => {
			const { readFileSync } = await import("node:fs");
			const mapped = () =>
				/knowledgepulse_onnxruntime|model\.bin/.test(
					readFileSync("/proc/self/maps", "latin1"),
				);
			const found = [];
			for (const runtime of ["rust", "onnxruntime"]) {
				scoring.configure({ runtime });
				await scoring.evaluateValue(input);
				found.push(mapped());
			}
			return found;
		};
		assert.deepEqual(await valueFrom(body, { input: trace() }), [false, true]);
	});

	test("come to nothing when the process ends amid them", async () => {
		const body = ({ scoring, input }) => {
			for (const value of input) scoring.evaluateValue(value);
			process.exit(7);
		};
		const input = Array.from({ length: 8 }, (_, i) => says(words(600, i)));
		const { code, signal, stderr } = await run(body, { input, env: RUST });
		assert.deepEqual(
			{ code, signal, stderr },
			{ code: 7, signal: null, stderr: "" },
		);
	});
});

describe("a model folder that, without ONNX Runtime,", {
	concurrency: 2,
}, () => {
	const rows = [
		["model.bin", ...Object.keys(damage)],
		["tokenizer.json", "is missing", "has one other byte"],
		["manifest.json", "is missing", "is text"],
	];
	for (const [name, ...damages] of rows) {
		for (const damaged of damages) {
			test(`has a ${name} that ${damaged}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const file = join(folder, name);
				damage[damaged](file, join(modelDir, name));
				await assertWorksWithout(inRust(folder), literally(file));
			});
		}
	}

	const tensor = "layer3.up.bias";
	const changes = {
		"names no tensor": (tensors) => delete tensors[tensor],
		"has another shape for": (tensors) => {
			tensors[tensor].shape = [384, 4];
		},
		"has another type for": (tensors) => {
			tensors[tensor].type = "int16";
		},
		"has an impossible place for": (tensors) => {
			tensors[tensor].offset = 2 ** 40;
		},
	};
	for (const [change, make] of Object.entries(changes)) {
		test(`${change} ${tensor}`, async (t) => {
			const folder = modelCopy(temporaryFolder(t));
			const manifest = readManifest(folder);
			make(manifest.tensors);
			writeManifest(folder, manifest);
			await assertRequired(inRust(folder), literally(folder));
		});
	}
});

describe("configure", () => {
	const refused = [
		["onnx", `runtime: ${expected} "onnx"`],
		["", `runtime: ${expected} ""`],
		["Rust", `runtime: ${expected} "Rust"`],
		["rust ", `runtime: ${expected} "rust "`],
		[null, "runtime: expected a string, got null"],
		[true, "runtime: expected a string, got true"],
		[["rust"], "runtime: expected a string, got"],
	];
	for (const [runtime, message] of refused) {
		test(`refuses ${message}`, () => {
			const before = status();
			assert.throws(
				() => configure({ embedder: "off", runtime }),
				(error) => {
					assert.deepEqual(
						[error.code, error.path],
						["INVALID_OPTION", "runtime"],
					);
					return error.message.startsWith(message);
				},
			);
			assert.deepEqual(status(), before, "nothing is changed");
		});
	}

	test("changes the runtime, and status tells what there is", (t) => {
		t.after(() => configure({ runtime: "onnxruntime", precision: "exact" }));
		const { embedder } = status();
		configure({ runtime: "rust", precision: "fast" });
		const without = { library: null, libraryVersion: null };
		const changed = { ...embedder, ...without, runtime: "rust" };
		assert.deepEqual(status().embedder, changed);
		configure({ runtime: undefined });
		assert.deepEqual(status().embedder, changed);
		configure({ runtime: "onnxruntime" });
		assert.deepEqual(status().embedder, { ...embedder, precision: "fast" });
	});

	test("one runtime goes on with the cache of the other", async () => {
		const body = async ({ scoring, input }) => {
			const told = [];
			for (const runtime of ["rust", "onnxruntime", "onnxruntime", "rust"]) {
				scoring.configure({ runtime });
				const { state } = scoring.status().embedder;
				const { novelty } = await scoring.explainValue(input);
				const { embedder, cacheSize } = scoring.status();
				told.push([state, novelty.source, embedder.state, cacheSize]);
				if (novelty.source === "cache")
					told.push(novelty.maxSimilarity > 1 - 1e-6);
				told.push(embedder.libraryVersion === null);
			}
			return told;
		};
		const input = says(words(30, 1));
		assert.deepEqual(await valueFrom(body, { input }), [
			...[["idle", "empty-cache", "ready", 1], true],
			...[["idle", "cache", "ready", 2], true, false],
			...[["ready", "cache", "ready", 3], true, false],
			...[["idle", "cache", "ready", 4], true, true],
		]);
	});
});

describe("the environment variable", () => {
	const told = ({ scoring }) => {
		const { runtime, precision, library } = scoring.status().embedder;
		return [runtime, precision, library === null];
	};
	const rows = [
		["rust", ["rust", "exact", true]],
		["onnxruntime", ["onnxruntime", "fast", false]],
		["", ["onnxruntime", "fast", false]],
	];
	for (const [value, found] of rows) {
		test(`${JSON.stringify(value)} is ${found[0]}`, async () => {
			const precision = { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" };
			const env = { [VARIABLE]: value, ...precision };
			assert.deepEqual(await valueFrom(told, { env }), found);
		});
	}

	for (const value of ["onnx", "RUST", " rust"]) {
		test(`${JSON.stringify(value)} is an error until another is configured`, async () => {
			const body = async ({ scoring, input }) => {
				const calls = [
					() => scoring.evaluateValue(input),
					() => scoring.warmup(),
					async () => scoring.status(),
				];
				const errors = [];
				for (const change of [{}, { precision: "exact" }]) {
					scoring.configure(change);
					for (const call of calls) {
						const { code, path, message } = await call().catch((e) => e);
						errors.push([code, path, message].join("; "));
					}
				}
				scoring.configure({ runtime: "rust" });
				await scoring.evaluateValue(input);
				return [errors, scoring.status().cacheSize];
			};
			const env = { [VARIABLE]: value };
			const message = `${VARIABLE}: ${expected} ${JSON.stringify(value)}`;
			const error = `INVALID_OPTION; ${VARIABLE}; ${message}`;
			assert.deepEqual(await valueFrom(body, { input: trace(), env }), [
				Array(6).fill(error),
				1,
			]);
		});
	}
});
