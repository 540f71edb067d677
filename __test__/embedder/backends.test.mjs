import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { draws, repeats, seed } from "../support/draws.mjs";
import { modelCopy, temporaryFolder } from "../support/model-folder.mjs";
import { assertSame, assertWithin, oneByOne, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";
import { trace, words } from "../support/traces.mjs";

/** The number of traces of a file that are scored exactly, and fast. */
const SOME = repeats(5);
const MORE = repeats(30);

/** The greatest difference of a similarity between the backends; that of a score is smaller. */
const ROUNDING = 2e-6;

/** The greatest error of a fast score. */
const FAST_TOLERANCE = 0.006;

const ONNX = { backend: "onnx", embedder: "required" };
const NATIVE = { backend: "native", embedder: "required" };
const FAST = { precision: "fast", embedder: "required" };

/** One run of each kind. */
const few = runs.slice(0, 6);

for (const file of files) {
	test(`evaluateValue gives ${file} the scores of ONNX Runtime`, async () => {
		const { traces } = firstOf(file, SOME);
		assertWithin(ROUNDING, await oneByOne(traces, NATIVE), await oneByOne(traces, ONNX));
	});
}

test("evaluateValue computes fast scores with the native backend, whichever is asked for", async () => {
	const found = await oneByOne(few, FAST);
	assertSame(await oneByOne(few, { ...ONNX, ...FAST }), found);
	assert.notDeepEqual(found, await oneByOne(few, NATIVE));
});

test("evaluateValue needs no library and no graph, unless backend is onnx", async (t) => {
	const model = modelCopy(temporaryFolder(t));
	rmSync(join(model, "model.onnx"));
	const without = { model, library: join(model, "nowhere.so") };
	assertSame(await oneByOne(few, { ...NATIVE, ...without }), await oneByOne(few, NATIVE));
	assertSame(await oneByOne(few, { ...FAST, ...without }), await oneByOne(few, FAST));
	const code = "EMBEDDER_UNAVAILABLE";
	await assert.rejects(oneByOne(few, { ...ONNX, model }), {
		code,
		message: /model\.onnx: No such/,
	});
});

test("evaluateValue loads no library by default", async (t) => {
	if (process.platform !== "linux")
		return t.diagnostic("only Linux lists what is mapped: not looked at here");
	const body = async ({ scoring, input }) => {
		const { readFileSync } = await import("node:fs");
		const isLoaded = () => readFileSync("/proc/self/maps", "latin1").includes("libonnxruntime");
		const found = [];
		for (const backend of [undefined, "onnx"]) {
			scoring.configure({ backend });
			await scoring.evaluateValue(input);
			found.push(isLoaded());
		}
		return found;
	};
	assert.deepEqual(await valueFrom(body, { input: trace() }), [false, true]);
});

for (const file of files)
	test(`evaluateValue gives ${file} fast scores near the golden ones`, async () => {
		const { traces, golden } = firstOf(file, MORE);
		const right = golden.map(({ score }) => score);
		assertWithin(FAST_TOLERANCE, await oneByOne(traces, FAST), right);
	});

test("evaluateValue gives the fixtures fast scores near the exact ones, and exact ones after them", async () => {
	const exact = await scoresOf(runs, 1);
	assertWithin(FAST_TOLERANCE, await oneByOne(runs, FAST), exact);
	assertSame(await oneByOne(runs, NATIVE), exact);
});

/** The command that runs another one on the first core of this process; `undefined` without one. */
function onOneCore() {
	if (process.platform !== "linux") return undefined;
	const status = readFileSync("/proc/self/status", "utf8");
	const core = /^Cpus_allowed_list:\s*(\d+)/m.exec(status)?.[1];
	const command = ["taskset", "-c", core];
	const tried = spawnSync(command[0], [...command.slice(1), "true"]);
	return tried.status === 0 ? command : undefined;
}

const under = onOneCore();

test("status reports as many threads as cores", async (t) => {
	const threads = ({ scoring }) => scoring.status().threads;
	assert.equal(await valueFrom(threads), availableParallelism());
	if (under) assert.equal(await valueFrom(threads, { under }), 1);
	else t.diagnostic("a process cannot be given a single core here");
});

/** Texts of all lengths in a random order, each several times, in traces that differ otherwise. */
function repeated(count) {
	const texts = [600, 300, 120, 30, 8, 1, 0].map((length, i) => words(length, i));
	const { number, of } = draws(seed);
	return Array.from({ length: count }, () => {
		const steps = [{ type: "observation", content: of(texts) }];
		return trace({ objective: of(["Read", "Write"]), confidence: number(), steps });
	});
}

/** The number of traces with texts that come again. */
const REPEATED = 12;

const others = [...runs, ...files.flatMap((file) => firstOf(file, 2).traces)];
const traces = [...repeated(REPEATED), ...others];

/** Scores each trace with a new embedder, whose memo is empty; the cache stays. */
async function forgetful({ scoring, input }) {
	const scores = [];
	for (const trace of input.traces) {
		for (const precision of input.precisions) scoring.configure({ precision });
		scores.push(await scoring.evaluateValue(trace));
	}
	return scores;
}

for (const precisions of [
	["fast", "exact"],
	["exact", "fast"],
]) {
	const precision = precisions[1];
	test(`evaluateValue gives the same ${precision} scores beside other calls, on one core, with a small stack and without a memo`, async (t) => {
		const env = { KNOWLEDGEPULSE_SCORING_PRECISION: precision };
		const scores = (width, options) => scoresOf(traces, width, { env, ...options });
		if (!under) t.diagnostic("a process cannot be given a single core here");
		const expected = await scores(1);
		const small = { env: { ...env, RUST_MIN_STACK: "1" } };
		assertSame(await scores(16, small), expected, `KP_SEED=${seed}, 16 in flight`);
		assertSame(await scores(8, { under: under ?? [] }), expected, `KP_SEED=${seed}, on one core`);
		const input = { traces: traces.slice(0, REPEATED), precisions };
		const alone = await valueFrom(forgetful, { input });
		assertSame(alone, expected.slice(0, REPEATED), `KP_SEED=${seed}, without a memo`);
	});
}
