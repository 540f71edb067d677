/** An addon that was copied without its package, as bundlers do. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	realpathSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { assertEndedWell, run } from "../support/child.mjs";
import { copyMainPackage } from "../support/copies.mjs";
import {
	library,
	literally,
	modelFolder,
	readManifest,
	temporaryFolder,
	writeManifest,
} from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

const addon = Object.keys(createRequire(import.meta.url).cache).find((file) =>
	file.endsWith(".node"),
);

const { entry } = copyMainPackage({ after });

/** The default names of a model and a library in `folder`, from somebody else. Returns whether the library has run. */
function plant(folder) {
	const mark = join(folder, "mark");
	const place = join(
		folder,
		"node_modules",
		library.slice(library.lastIndexOf("onnxruntime-node")),
	);
	mkdirSync(dirname(place), { recursive: true });
	writeFileSync(join(folder, "node_modules/onnxruntime-node/package.json"), "{}");
	const source = `#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open("${mark}", O_CREAT, 0600); }`;
	const args = ["-shared", "-fPIC", "-xc", "-", "-o", place];
	const { status, stderr } = spawnSync("cc", args, { input: source, encoding: "utf8" });
	assert.equal(status, 0, stderr);
	cpSync(modelFolder, join(folder, "model"), { recursive: true });
	const manifest = readManifest(modelFolder);
	writeManifest(join(folder, "model"), { ...manifest, name: "planted" });
	return () => existsSync(mark);
}

/** A folder with the addon alone, under another name. */
function moved(t) {
	const folder = join(temporaryFolder(t), "bundle");
	mkdirSync(folder);
	copyFileSync(addon, join(folder, "scoring-4XQ2.node"));
	return folder;
}

/** Scores with the addon of a folder, in the working directory `cwd`. */
async function scoreIn(cwd, folder, options = {}) {
	const body = async ({ input }) => {
		const { default: Module } = await import("node:module");
		process.chdir(input.cwd);
		// A bundler replaces the name of the platform package by the path of its copy.
		const load = Module._load;
		Module._load = (name, ...rest) =>
			load(name.startsWith("@knowledgepulse/scoring-") ? input.addon : name, ...rest);
		const { Scorer } = await import(input.entry);
		const scorer = new Scorer(input.options);
		const report = await scorer.explainValue(input.value);
		return { source: report.novelty.source, ...scorer.status().embedder };
	};
	const input = { addon: join(folder, "scoring-4XQ2.node"), cwd, entry, options, value: trace() };
	const ended = await run(body, { preload: false, input });
	assertEndedWell(ended);
	return { ...ended.value, warning: ended.stderr };
}

describe("an addon without its package", { skip: process.platform === "win32" }, () => {
	for (const backend of ["onnx", "native"])
		test(`an addon that was moved takes no model from the working directory, ${backend}`, async (t) => {
			const [cwd, folder] = [temporaryFolder(t), moved(t)];
			const hasRun = plant(cwd);
			const found = await scoreIn(cwd, folder, { backend });
			assert.deepEqual([found.source, found.state], ["no-embedder", "unavailable"]);
			assert.equal(found.model, join(folder, "model"));
			for (const text of [found.reason, found.warning]) {
				assert.match(text, literally(join(folder, "model", "manifest.json")));
				assert.match(text, /keep @knowledgepulse\/scoring external.*docs\/install\.md/);
			}
			assert.ok(!hasRun());
		});

	test("an addon that was moved takes no library from the working directory", async (t) => {
		const [cwd, folder] = [temporaryFolder(t), moved(t)];
		const hasRun = plant(cwd);
		const found = await scoreIn(cwd, folder, { model: modelFolder, backend: "onnx" });
		assert.deepEqual([found.reason, realpathSync(found.library)], [null, library]);
		assert.ok(!hasRun());
	});

	for (const backend of ["onnx", "native"])
		test(`an addon in a folder of all users takes nothing from there, ${backend}`, async (t) => {
			const folder = moved(t);
			const hasRun = plant(folder);
			chmodSync(folder, 0o1777);
			const found = await scoreIn(folder, folder, { backend });
			assert.deepEqual([found.source, found.model], ["no-embedder", null]);
			assert.match(found.reason, literally(folder));
			assert.match(found.reason, /moved by a bundler.*keep @knowledgepulse\/scoring external/);
			assert.ok(!hasRun());
		});

	test("an addon in a folder of its user takes the model from there", async (t) => {
		const folder = moved(t);
		cpSync(modelFolder, join(folder, "model"), { recursive: true });
		const found = await scoreIn(temporaryFolder(t), folder);
		assert.deepEqual([found.reason, found.model], [null, join(folder, "model")]);
	});
});
