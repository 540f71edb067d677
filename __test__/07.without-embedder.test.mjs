import assert from "node:assert/strict";
import { statSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import {
	damage,
	library,
	link,
	modelCopy,
	modelDir,
	ownCopy,
	readManifest,
	replaceVouched,
	temporaryFolder,
	writeManifest,
} from "./lib/model-folder.mjs";
import {
	assertRequired,
	assertWorksWithout,
	literally,
} from "./lib/without-embedder.mjs";

describe("a model folder that", { concurrency: 2 }, () => {
	test("is missing", async (t) => {
		const missing = join(temporaryFolder(t), "nowhere");
		const env = { KNOWLEDGEPULSE_SCORING_MODEL_DIR: missing };
		const found = await assertWorksWithout(env, literally(missing));
		assert.deepEqual(
			[found.mode, found.modelDir, found.library],
			["auto", missing, library],
		);
		await assertRequired(env, literally(missing));
	});

	test("is a file", async (t) => {
		const file = join(temporaryFolder(t), "model");
		writeFileSync(file, "");
		await assertWorksWithout(
			{ KNOWLEDGEPULSE_SCORING_MODEL_DIR: file },
			literally(file),
		);
	});

	const rows = [
		[
			"manifest.json",
			"is missing",
			"is empty",
			"is a folder",
			"is cut off",
			"is text",
		],
		["exact.onnx", "is missing", "is cut off", "has one other byte"],
		[
			"model.bin",
			"is missing",
			"is empty",
			"is a folder",
			"is cut off",
			"is longer",
			"has one other byte",
		],
		[
			"tokenizer.json",
			"is missing",
			"is empty",
			"is cut off",
			"is longer",
			"has one other byte",
		],
	];
	for (const [name, ...damages] of rows) {
		for (const damaged of damages) {
			test(`has a ${name} that ${damaged}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const file = join(folder, name);
				damage[damaged](file, join(modelDir, name));
				await assertWorksWithout(
					{ KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder },
					literally(file),
				);
			});
		}
	}

	const allBut = (left) =>
		readManifest(modelDir).files.filter(({ name }) => name !== left);
	const manifests = [
		["of another format", { format: 1 }, /format: expected 2, got 1/],
		[
			"of other dimensions",
			{ dimensions: 768 },
			/dimensions: expected 384, got 768/,
		],
		[
			"of another window",
			{ maxTokens: 128 },
			/maxTokens: expected 512, got 128/,
		],
		["without files", { files: [] }, /names no file/],
		["without a graph", { files: allBut("exact.onnx") }, /exact\.onnx/],
		["without weights", { files: allBut("model.bin") }, /model\.bin/],
		[
			"without a tokenizer",
			{ files: allBut("tokenizer.json") },
			/tokenizer\.json/,
		],
		["without a name", { name: undefined }, /name/],
	];
	for (const [name, changes, what] of manifests) {
		test(`has a manifest ${name}`, async (t) => {
			const folder = modelCopy(temporaryFolder(t));
			writeManifest(folder, { ...readManifest(folder), ...changes });
			const env = { KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder };
			const { reason } = await assertWorksWithout(
				env,
				literally(join(folder, "manifest.json")),
			);
			assert.match(reason, what);
		});
	}

	test("has a tokenizer of another kind", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		replaceVouched(
			folder,
			"tokenizer.json",
			Buffer.from('{"model":{"vocab":{"a":0}}}'),
		);
		const env = { KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder };
		await assertWorksWithout(env, literally(join(folder, "tokenizer.json")));
	});

	test("has a graph that ONNX Runtime cannot read", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		replaceVouched(folder, "exact.onnx", Buffer.from("not a graph"));
		const env = { KNOWLEDGEPULSE_SCORING_MODEL_DIR: folder };
		await assertWorksWithout(env, literally(join(folder, "exact.onnx")));
	});
});

describe("a library that", { concurrency: 2 }, () => {
	for (const damaged of [
		"is missing",
		"is empty",
		"is a folder",
		"is text",
		"is cut off",
	]) {
		test(damaged, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			link(library, file);
			damage[damaged](file, library);
			const env = { KNOWLEDGEPULSE_SCORING_LIBRARY: file };
			const found = await assertWorksWithout(env, literally(file));
			assert.deepEqual([found.library, found.libraryVersion], [file, null]);
		});
	}

	for (const length of [3, 64, 1000, 1_000_000, statSync(library).size - 500]) {
		test(`is cut off after ${length} bytes`, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			truncateSync(ownCopy(file, library), length);
			await assertWorksWithout(
				{ KNOWLEDGEPULSE_SCORING_LIBRARY: file },
				literally(file),
			);
		});
	}

	for (const damaged of [
		"is missing",
		"is cut off",
		"is longer",
		"has one other byte",
	]) {
		test(`${damaged}, beside the entry that vouches for it`, async (t) => {
			const folder = temporaryFolder(t);
			link(
				join(dirname(library), "onnxruntime.json"),
				join(folder, "onnxruntime.json"),
			);
			const file = join(folder, basename(library));
			link(library, file);
			damage[damaged](file, library);
			await assertWorksWithout(
				{ KNOWLEDGEPULSE_SCORING_LIBRARY: file },
				literally(file),
			);
		});
	}

	for (const unreadable of ["is text", "is a folder"]) {
		test(`has an entry beside it that ${unreadable}`, async (t) => {
			const folder = temporaryFolder(t);
			const entry = join(folder, "onnxruntime.json");
			writeFileSync(entry, "");
			damage[unreadable](entry);
			const file = join(folder, basename(library));
			link(library, file);
			await assertWorksWithout(
				{ KNOWLEDGEPULSE_SCORING_LIBRARY: file },
				literally(entry),
			);
		});
	}

	test("is missing, when it is required", async (t) => {
		const file = join(temporaryFolder(t), "libonnxruntime");
		await assertRequired(
			{ KNOWLEDGEPULSE_SCORING_LIBRARY: file },
			literally(file),
		);
	});

	test("is this addon", async () => {
		const require = createRequire(import.meta.url);
		require("../index.js");
		const addon = Object.keys(require.cache).find((file) =>
			file.endsWith(".node"),
		);
		await assertWorksWithout(
			{ KNOWLEDGEPULSE_SCORING_LIBRARY: addon },
			literally(addon),
		);
	});

	const libC = process.report
		.getReport()
		.sharedObjects.find((file) => /libc\.so|libSystem|kernel32/i.test(file));
	test(`is a library of the system: ${libC}`, async () => {
		await assertWorksWithout(
			{ KNOWLEDGEPULSE_SCORING_LIBRARY: libC },
			literally(libC),
		);
	});
});

test("everything missing, and required", async (t) => {
	const nowhere = join(temporaryFolder(t), "nowhere");
	const env = {
		KNOWLEDGEPULSE_SCORING_MODEL_DIR: nowhere,
		KNOWLEDGEPULSE_SCORING_LIBRARY: nowhere,
	};
	await assertWorksWithout(env, literally(nowhere));
	await assertRequired(env, literally(nowhere));
});

test("an embedder that is switched off", async () => {
	const found = await assertWorksWithout(
		{ KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" },
		/switched off/,
	);
	assert.equal(found.mode, "off");
});
