import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { scoresWhileChanging } from "../support/changing-files.mjs";
import { valueFrom } from "../support/child.mjs";
import {
	damage,
	modelCopy,
	modelFolder,
	readManifest,
	replaceVouched,
	temporaryFolder,
	writeManifest,
} from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";
import {
	assertRequired,
	assertWorksWithout,
	literally,
} from "../support/without-embedder.mjs";

/** The graphs for fast scores; which one is used depends on the processor. */
const GRAPHS = ["fast.onnx", "fast-u8.onnx"];

const environment = (precision, folder) => ({
	KNOWLEDGEPULSE_SCORING_PRECISION: precision,
	KNOWLEDGEPULSE_SCORING_MODEL: folder,
});

describe("a damaged model folder for fast scores", { concurrency: 2 }, () => {
	// All graphs are checked, whichever is used.
	const rows = [
		["fast", "exact.onnx", "is missing", "is cut off", "has one other byte"],
		["fast", "fast.onnx", "is missing", "is empty", "has one other byte"],
		["fast", "fast-u8.onnx", "is missing", "is longer", "is a folder"],
		["fast", "fast-weights.onnx", "is missing", "is cut off", "is text"],
		["fast", "model.bin", "is missing", "is cut off", "has one other byte"],
		["fast", "tokenizer.json", "has one other byte"],
		["exact", "fast.onnx", "is missing", "has one other byte"],
		["exact", "fast-u8.onnx", "has one other byte"],
		["exact", "fast-weights.onnx", "is missing", "has one other byte"],
	];

	for (const [precision, name, ...damages] of rows) {
		for (const damaged of damages) {
			test(`evaluateValue scores without the embedder when ${name} ${damaged}, for ${precision} scores`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const file = join(folder, name);
				damage[damaged](file, join(modelFolder, name));
				const env = environment(precision, folder);
				const found = await assertWorksWithout(env, literally(file));
				assert.equal(found.precision, precision);
			});
		}
	}

	test("evaluateValue rejects without fast graphs when the embedder is required", async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		for (const name of GRAPHS) rmSync(join(folder, name));
		const env = environment("fast", folder);
		await assertRequired(env, literally(join(folder, GRAPHS[0])));
	});

	for (const names of [GRAPHS, ["fast-weights.onnx"]]) {
		test(`evaluateValue scores without the embedder when the manifest lacks ${names.join(" and ")}`, async (t) => {
			const folder = modelCopy(temporaryFolder(t));
			const manifest = readManifest(folder);
			const files = manifest.files.filter(({ name }) => !names.includes(name));
			writeManifest(folder, { ...manifest, files });
			const file = literally(join(folder, "manifest.json"));
			await assertWorksWithout(environment("fast", folder), file);
		});

		test(`evaluateValue scores without the embedder when ${names.join(" and ")} is text with the right checksum`, async (t) => {
			const folder = modelCopy(temporaryFolder(t));
			for (const name of names)
				replaceVouched(folder, name, Buffer.from("not a graph"));
			const file = /fast(-u8|-weights)?\.onnx/;
			await assertWorksWithout(environment("fast", folder), file);
			// A file that is not used needs the right checksum only.
			const body = async ({ scoring, input }) =>
				(await scoring.explainValue(input)).novelty.source;
			const env = environment("exact", folder);
			const source = await valueFrom(body, { input: trace(), env });
			assert.equal(source, "empty-cache");
		});
	}
});

/** Scores before and after `input.file` is restored. */
const recover = async ({ scoring, input }) => {
	const { copyFileSync } = await import("node:fs");
	const warnings = [];
	process.emitWarning = (...warning) => warnings.push(warning.at(-1));
	const sources = [];
	const score = async () => {
		const { novelty } = await scoring.explainValue(input.trace);
		sources.push(novelty.source);
	};
	await score();
	copyFileSync(input.original, input.file);
	scoring.configure({});
	await score();
	scoring.configure({ precision: "exact" });
	await score();
	return { sources, warnings };
};

for (const name of [...GRAPHS, "fast-weights.onnx"]) {
	test(`evaluateValue gives fast scores once ${name} is back`, async (t) => {
		const folder = modelCopy(temporaryFolder(t));
		const file = join(folder, name);
		rmSync(file);
		const input = { trace: trace(), file, original: join(modelFolder, name) };
		const env = environment("fast", folder);
		assert.deepEqual(await valueFrom(recover, { input, env }), {
			sources: ["no-embedder", "empty-cache", "cache"],
			warnings: ["KNOWLEDGEPULSE_NO_EMBEDDER"],
		});
	});
}

describe("model files that change after the first fast score", {
	concurrency: 2,
}, () => {
	const fast = { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" };

	for (const names of [GRAPHS, ["fast-weights.onnx"], ["model.bin"]]) {
		for (const text of ["", "not what was expected"]) {
			const change = text ? "damaged" : "missing";
			test(`evaluateValue scores as before when ${names} is ${change}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				assert.deepEqual(
					await scoresWhileChanging(folder, names, text, fast),
					await scoresWhileChanging(modelFolder, [], "", fast),
				);
			});
		}
	}
});
