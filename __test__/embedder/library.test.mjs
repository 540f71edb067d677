import assert from "node:assert/strict";
import { statSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { damage, library, link, ownCopy, temporaryFolder } from "../support/model-folder.mjs";
import { assertRequired, assertWorksWithout, literally } from "../support/without-embedder.mjs";

describe("a damaged ONNX Runtime library", { concurrency: 2 }, () => {
	for (const damaged of ["is missing", "is empty", "is a folder", "is text", "is cut off"]) {
		test(`evaluateValue scores without the embedder when the library ${damaged}`, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			link(library, file);
			damage[damaged](file, library);
			const env = { KNOWLEDGEPULSE_SCORING_LIBRARY: file };
			const found = await assertWorksWithout(env, literally(file));
			assert.deepEqual([found.library, found.libraryVersion], [file, null]);
		});
	}

	for (const length of [3, 64, 1000, 1_000_000, statSync(library).size - 500]) {
		test(`evaluateValue scores without the embedder when the library is cut off after ${length} bytes`, async (t) => {
			const file = join(temporaryFolder(t), "libonnxruntime");
			truncateSync(ownCopy(file, library), length);
			await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_LIBRARY: file }, literally(file));
		});
	}

	for (const damaged of ["is missing", "is cut off", "is longer", "has one other byte"]) {
		test(`evaluateValue scores without the embedder when the library ${damaged}, with its checksum beside it`, async (t) => {
			const folder = temporaryFolder(t);
			link(join(dirname(library), "onnxruntime.json"), join(folder, "onnxruntime.json"));
			const file = join(folder, basename(library));
			link(library, file);
			damage[damaged](file, library);
			await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_LIBRARY: file }, literally(file));
		});
	}

	for (const unreadable of ["is text", "is a folder"]) {
		test(`evaluateValue scores without the embedder when the checksum of the library ${unreadable}`, async (t) => {
			const folder = temporaryFolder(t);
			const entry = join(folder, "onnxruntime.json");
			writeFileSync(entry, "");
			damage[unreadable](entry);
			const file = join(folder, basename(library));
			link(library, file);
			await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_LIBRARY: file }, literally(entry));
		});
	}

	test("evaluateValue rejects when the library is missing and the embedder required", async (t) => {
		const file = join(temporaryFolder(t), "libonnxruntime");
		await assertRequired({ KNOWLEDGEPULSE_SCORING_LIBRARY: file }, literally(file));
	});

	test("evaluateValue scores without the embedder when the library is the addon itself", async () => {
		const require = createRequire(import.meta.url);
		require("@knowledgepulse/scoring");
		const addon = Object.keys(require.cache).find((file) => file.endsWith(".node"));
		await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_LIBRARY: addon }, literally(addon));
	});

	const libC = process.report
		.getReport()
		.sharedObjects.find((file) => /libc\.so|libSystem|kernel32/i.test(file));

	test(`evaluateValue scores without the embedder when the library is ${libC}`, async () => {
		await assertWorksWithout({ KNOWLEDGEPULSE_SCORING_LIBRARY: libC }, literally(libC));
	});
});
