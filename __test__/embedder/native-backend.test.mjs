import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../fixtures/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { repeats } from "../support/draws.mjs";
import { modelCopy, temporaryFolder } from "../support/model-folder.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";
import { says, trace, words } from "../support/traces.mjs";

const VARIABLE = "KNOWLEDGEPULSE_SCORING_BACKEND";

const NATIVE = { [VARIABLE]: "native" };

/** The number of traces of a file that are scored. */
const SOME = repeats(5);

const FAST = { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" };

/** One run of each kind. */
const few = runs.slice(0, 6);

/** The scores with `width` calls in flight. */
const inFlight = (traces, width, env) => scoresOf(traces, width, { env });

for (const file of files) {
	test(`evaluateValue gives ${file} the scores of ONNX Runtime with the native backend`, async () => {
		const { traces } = firstOf(file, SOME);
		assertSame(await inFlight(traces, 16, NATIVE), await inFlight(traces, 1, {}));
	});
}

test("evaluateValue gives texts of all lengths the same bits with both backends", async () => {
	const lengths = [0, 1, 2, 3, 5, 8, 13, 21, 34, 46, 47, 94, 95, 250, 510];
	const texts = [...lengths, 5000].map((length) => words(length, length));
	const traces = [...texts, "é漢😀\ud800"].map(says);
	const found = await inFlight(traces, 1, NATIVE);
	assertSame(found, await inFlight(traces, 1, {}));
	assert.ok(new Set(found).size > lengths.length / 2, "hardly two alike");
});

test("evaluateValue computes fast scores with the native backend, whichever is asked for", async () => {
	const found = await inFlight(few, 4, { ...NATIVE, ...FAST });
	assertSame(await inFlight(few, 4, { ...FAST, [VARIABLE]: "onnx" }), found);
	assert.notDeepEqual(found, await inFlight(few, 1, {}));
});

test("evaluateValue needs no library and no graph with the native backend", async (t) => {
	const folder = modelCopy(temporaryFolder(t));
	rmSync(join(folder, "exact.onnx"));
	const library = join(folder, "nowhere.so");
	const env = {
		...NATIVE,
		KNOWLEDGEPULSE_SCORING_MODEL: folder,
		KNOWLEDGEPULSE_SCORING_LIBRARY: library,
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
	};
	const exact = await inFlight(few, 8, {});
	assertSame(await inFlight(few, 8, env), exact);
	assertSame(await inFlight(few, 8, { ...env, ...FAST }), await inFlight(few, 8, FAST));
	// Without the library, the native backend runs the model anyway.
	assertSame(await inFlight(few, 8, { ...env, [VARIABLE]: "onnx" }), exact);
});

test("evaluateValue loads no library with the native backend", async (t) => {
	if (process.platform !== "linux")
		return t.diagnostic("only Linux lists what is mapped: not looked at here");
	const body = async ({ scoring, input }) => {
		const { readFileSync } = await import("node:fs");
		const isLoaded = () =>
			readFileSync("/proc/self/maps", "latin1").includes("knowledgepulse_onnxruntime");
		const found = [];
		for (const backend of ["native", "onnx"]) {
			scoring.configure({ backend });
			await scoring.evaluateValue(input);
			found.push(isLoaded());
		}
		return found;
	};
	assert.deepEqual(await valueFrom(body, { input: trace() }), [false, true]);
});
