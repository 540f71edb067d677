import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { modelCopy, temporaryFolder } from "../support/model-folder.mjs";
import { assertSame, assertWithin, oneByOne, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";
import { says, trace, words } from "../support/traces.mjs";

/** The number of traces of a file that are scored. */
const SOME = repeats(5);

/** The greatest difference of a similarity between the backends; that of a score is smaller. */
const ROUNDING = 2e-6;

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

test("evaluateValue gives the same scores beside other calls", async () => {
	const traces = [...few, says(words(300, 300))];
	assertSame(await scoresOf(traces, 16), await scoresOf(traces, 1));
});
