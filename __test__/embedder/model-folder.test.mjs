import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
	damage,
	library,
	modelCopy,
	modelFolder,
	readManifest,
	replaceVouched,
	temporaryFolder,
	writeManifest,
} from "../support/model-folder.mjs";
import { assertRequired, assertWorksWithout, literally } from "../support/without-embedder.mjs";

describe("a damaged model folder", { concurrency: 2 }, () => {
	test("evaluateValue scores without a model folder, unless the embedder is required", async (t) => {
		const missing = join(temporaryFolder(t), "nowhere");
		const env = { KNOWLEDGEPULSE_SCORING_MODEL: missing };
		const found = await assertWorksWithout(env, literally(missing));
		assert.deepEqual([found.mode, found.model, found.library], ["auto", missing, library]);
		await assertRequired(env, literally(missing));
	});

	test("evaluateValue scores without the embedder when the model folder is a file", async (t) => {
		const file = join(temporaryFolder(t), "model");
		writeFileSync(file, "");
		await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_MODEL: file }, literally(file));
	});

	const NATIVE = { KNOWLEDGEPULSE_SCORING_BACKEND: "native" };
	const FAST = { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" };
	const all = Object.keys(damage);
	const some = ["is missing", "has one other byte"];

	/** Settings, a file that is read with them, and its damages. */
	const rows = [
		...["model.bin", "tokenizer.json"].map((name) => [{}, name, all]),
		[{}, "manifest.json", ["is missing", "is empty", "is a folder", "is cut off", "is text"]],
		[{}, "exact.onnx", ["is missing", "is cut off", "has one other byte"]],
		...[NATIVE, FAST].flatMap((env) => [
			[env, "model.bin", all],
			[env, "tokenizer.json", some],
			[env, "manifest.json", ["is missing", "is text"]],
		]),
	];

	for (const [env, name, damages] of rows)
		for (const damaged of damages)
			test(`evaluateValue scores without the embedder when ${name} ${damaged}, ${Object.values(env)}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const file = join(folder, name);
				damage[damaged](file, join(modelFolder, name));
				const found = await assertWorksWithout(
					{ ...env, KNOWLEDGEPULSE_SCORING_MODEL: folder },
					literally(file),
				);
				assert.equal(found.precision, env === FAST ? "fast" : "exact");
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
			const folder = modelCopy(temporaryFolder(t));
			writeManifest(folder, { ...readManifest(folder), ...changes });
			const env = { KNOWLEDGEPULSE_SCORING_MODEL: folder };
			const { reason } = await assertWorksWithout(env, literally(join(folder, "manifest.json")));
			assert.match(reason, what);
		});
	}

	test("evaluateValue scores without the embedder with a tokenizer of another kind", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		replaceVouched(folder, "tokenizer.json", Buffer.from('{"model":{"vocab":{"a":0}}}'));
		const env = { KNOWLEDGEPULSE_SCORING_MODEL: folder };
		await assertWorksWithout(env, literally(join(folder, "tokenizer.json")));
	});

	test("evaluateValue scores without the embedder with a graph that ONNX Runtime cannot read", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		replaceVouched(folder, "exact.onnx", Buffer.from("not a graph"));
		const env = { KNOWLEDGEPULSE_SCORING_MODEL: folder };
		await assertWorksWithout(env, literally(join(folder, "exact.onnx")));
	});
});

test("evaluateValue scores when model and library are missing, unless the embedder is required", async (t) => {
	const nowhere = join(temporaryFolder(t), "nowhere");
	const env = { KNOWLEDGEPULSE_SCORING_MODEL: nowhere, KNOWLEDGEPULSE_SCORING_LIBRARY: nowhere };
	await assertWorksWithout(env, literally(nowhere));
	await assertRequired(env, literally(nowhere));
});

test("evaluateValue scores with the embedder switched off", async () => {
	const found = await assertWorksWithout(
		{ KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" },
		/switched off/,
	);
	assert.equal(found.mode, "off");
});
