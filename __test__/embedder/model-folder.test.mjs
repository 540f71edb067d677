import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import {
	damage,
	library,
	literally,
	modelCopy,
	modelFolder,
	readManifest,
	replaceVouched,
	temporaryFolder,
	writeManifest,
} from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

/** Checks that scores are neutral without the embedder, and that reports and status have the reason. */
async function assertWorksWithout(options, reason) {
	const scorer = new Scorer(options);
	const calls = [
		scorer.explainValue(trace()),
		scorer.evaluateValue(trace()),
		scorer.explainValue(trace()),
	];
	const [first, score, last] = await Promise.all(calls);
	for (const { novelty, dimensions } of [first, last]) {
		const { reason: found, ...rest } = novelty;
		const none = { maxSimilarity: null, nearest: null, seq: null };
		assert.deepEqual(rest, { source: "no-embedder", ...none });
		assert.match(found, reason);
		assert.equal(dimensions.novelty, 0.5);
	}
	assert.deepEqual([first.score, last.score], [score, score]);
	return assertUnavailable(scorer, reason);
}

/** Checks that calls reject if the embedder is required. */
async function assertRequired(options, reason) {
	const scorer = new Scorer({ ...options, embedder: "required" });
	const expected = { name: "ScoringError", code: "EMBEDDER_UNAVAILABLE", message: reason };
	for (const method of ["evaluateValue", "explainValue"])
		await assert.rejects(scorer[method](trace()), expected);
	await assert.rejects(scorer.warmup(), expected);
	assert.equal(assertUnavailable(scorer, reason).mode, "required");
}

function assertUnavailable(scorer, reason) {
	const { embedder, pending, cacheSize } = scorer.status();
	assert.deepEqual([embedder.state, embedder.modelName], ["unavailable", null]);
	assert.match(embedder.reason, reason);
	assert.deepEqual([pending, cacheSize], [0, 0]);
	return embedder;
}

describe("a damaged model folder", () => {
	test("evaluateValue scores without a model folder, unless the embedder is required", async (t) => {
		const model = join(temporaryFolder(t), "nowhere");
		const found = await assertWorksWithout({ model }, literally(model));
		assert.deepEqual([found.mode, found.model, found.library], ["auto", model, library]);
		await assertRequired({ model }, literally(model));
	});

	test("evaluateValue scores without the embedder when the model folder is a file", async (t) => {
		const model = join(temporaryFolder(t), "model");
		writeFileSync(model, "");
		await assertWorksWithout({ model }, literally(model));
	});

	const NATIVE = { backend: "native" };
	const FAST = { precision: "fast" };
	const all = Object.keys(damage);
	const some = ["is missing", "has one other byte"];

	/** Settings, a file that is read with them, and its damages. */
	const rows = [
		...["model.bin", "tokenizer.json"].map((name) => [{}, name, all]),
		[{}, "manifest.json", ["is missing", "is empty", "is a folder", "is cut off", "is text"]],
		[{}, "exact.onnx", ["is missing", "is cut off", "has one other byte"]],
		...[NATIVE, FAST].flatMap((options) => [
			[options, "model.bin", all],
			[options, "tokenizer.json", some],
			[options, "manifest.json", ["is missing", "is text"]],
		]),
	];

	for (const [options, name, damages] of rows)
		for (const damaged of damages)
			test(`evaluateValue scores without the embedder when ${name} ${damaged}, ${Object.values(options)}`, async (t) => {
				const model = modelCopy(temporaryFolder(t));
				const file = join(model, name);
				damage[damaged](file, join(modelFolder, name));
				const found = await assertWorksWithout({ ...options, model }, literally(file));
				assert.equal(found.precision, options === FAST ? "fast" : "exact");
			});

	const allBut = (left) => readManifest(modelFolder).files.filter(({ name }) => name !== left);

	const manifests = [
		["of another format", { format: 1 }, /format: expected 2, got 1/],
		["of other dimensions", { dimensions: 768 }, /dimensions: expected 384, got 768/],
		["of another window", { maxTokens: 128 }, /maxTokens: expected 512, got 128/],
		["without files", { files: [] }, /names no file/],
		["without a graph", { files: allBut("exact.onnx") }, /exact\.onnx/],
		["without weights", { files: allBut("model.bin") }, /model\.bin/],
		["without a tokenizer", { files: allBut("tokenizer.json") }, /tokenizer\.json/],
		["without a name", { name: undefined }, /name/],
	];

	for (const [name, changes, what] of manifests) {
		test(`evaluateValue scores without the embedder with a manifest ${name}`, async (t) => {
			const model = modelCopy(temporaryFolder(t));
			writeManifest(model, { ...readManifest(model), ...changes });
			const file = literally(join(model, "manifest.json"));
			const { reason } = await assertWorksWithout({ model }, file);
			assert.match(reason, what);
		});
	}

	test("evaluateValue scores without the embedder with a tokenizer of another kind", async (t) => {
		const model = modelCopy(temporaryFolder(t));
		replaceVouched(model, "tokenizer.json", Buffer.from('{"model":{"vocab":{"a":0}}}'));
		await assertWorksWithout({ model }, literally(join(model, "tokenizer.json")));
	});

	test("evaluateValue scores without the embedder with a graph that ONNX Runtime cannot read", async (t) => {
		const model = modelCopy(temporaryFolder(t));
		replaceVouched(model, "exact.onnx", Buffer.from("not a graph"));
		await assertWorksWithout({ model }, literally(join(model, "exact.onnx")));
	});
});

test("evaluateValue scores when model and library are missing, unless the embedder is required", async (t) => {
	const nowhere = join(temporaryFolder(t), "nowhere");
	const options = { model: nowhere, library: nowhere };
	await assertWorksWithout(options, literally(nowhere));
	await assertRequired(options, literally(nowhere));
});

test("evaluateValue scores with the embedder switched off", async () => {
	const found = await assertWorksWithout({ embedder: "off" }, /switched off/);
	assert.equal(found.mode, "off");
});
