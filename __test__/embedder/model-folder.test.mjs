import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { asNobody } from "../faults/outcomes.mjs";
import { run } from "../support/child.mjs";
import { damageAnywhere, damages } from "../support/damages.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import {
	literally,
	modelCopy,
	modelFolder,
	ownCopy,
	readManifest,
	temporaryFolder,
	writeManifest,
} from "../support/model-folder.mjs";
import { says, trace } from "../support/traces.mjs";

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
		assert.deepEqual([found.mode, found.model, found.library], ["auto", model, null]);
		await assertRequired({ model }, literally(model));
	});

	test("evaluateValue scores without the embedder when the model folder is a file", async (t) => {
		const model = join(temporaryFolder(t), "model");
		writeFileSync(model, "");
		await assertWorksWithout({ model }, literally(model));
	});

	const ONNX = { backend: "onnx" };
	const FAST = { precision: "fast" };
	const all = ["missing", "empty", "a folder", "cut at 0.5", "longer", "one other bit", "text"];
	const some = ["missing", "one other bit"];

	/** Settings, a file that they read, and how it is damaged. */
	const rows = [
		...["model.bin", "vocabulary.bin"].map((name) => [{}, name, all]),
		[
			{},
			"vocabulary.bin",
			Object.keys(damages).filter((way) => way.startsWith("one other bit at")),
		],
		[{}, "manifest.json", ["missing", "empty", "a folder", "cut at 0.5", "text"]],
		[ONNX, "model.onnx", all],
		...[ONNX, FAST].flatMap((options) => [
			[options, "model.bin", some],
			[options, "vocabulary.bin", some],
			[options, "manifest.json", ["missing", "text"]],
		]),
	];

	for (const [options, name, ways] of rows)
		for (const damaged of ways)
			test(`evaluateValue scores without the embedder with ${name} damaged: ${damaged}, ${Object.values(options)}`, async (t) => {
				const model = modelCopy(temporaryFolder(t));
				const file = join(model, name);
				damages[damaged](ownCopy(file, join(modelFolder, name)));
				const found = await assertWorksWithout({ ...options, model }, literally(file));
				assert.equal(found.precision, options === FAST ? "fast" : "exact");
			});

	for (const options of [{}, ONNX])
		for (const name of ["manifest.json", "model.bin", "vocabulary.bin", "model.onnx"])
			for (const damaged of ["a pipe", "without end"]) {
				if (options !== ONNX && name === "model.onnx") continue;
				const skip = process.platform === "win32";
				test(`evaluateValue reads only regular files, ${name}: ${damaged}, ${Object.values(options)}`, {
					skip,
					timeout: 60_000,
				}, async (t) => {
					const model = modelCopy(temporaryFolder(t));
					const file = join(model, name);
					damages[damaged](file);
					const { reason } = await assertWorksWithout({ ...options, model }, literally(file));
					assert.match(reason, /expected a file/);
				});
			}

	const nobody = asNobody();

	test("status says that the model folder cannot be read", {
		skip: !nobody && "takes root",
	}, async (t) => {
		const body = async ({ scoring, input }) => {
			const scorer = new scoring.Scorer({ model: input });
			return (await scorer.warmup().catch(() => scorer.status())).embedder.reason;
		};
		const model = modelCopy(temporaryFolder(t));
		const { value } = await run(body, { input: model, under: nobody });
		assert.match(value, literally(`${join(model, "manifest.json")}: Permission denied`));
		assert.doesNotMatch(value, /missing/);
	});

	/** The report of a trace after another one; without the embedder, its score would differ. */
	async function second(options) {
		const scorer = new Scorer(options);
		await scorer.evaluateValue(says("one river stone"));
		const report = await scorer.explainValue(says("two lantern copper archive"));
		scorer.close();
		return report;
	}

	const names = ["manifest.json", ...readManifest(modelFolder).files.map(({ name }) => name)];
	for (const options of [{}, ONNX, FAST])
		for (const name of names.filter((name) => options === ONNX || !name.endsWith(".onnx")))
			test(`evaluateValue gives no wrong score with ${name} damaged anywhere, ${Object.values(options)}`, async (t) => {
				const { score: right } = await second(options);
				const { score: neutral } = await second({ embedder: "off" });
				assert.notEqual(neutral, right);
				const draw = draws(seed);
				for (let count = 0; count < repeats(3); count++) {
					const model = modelCopy(temporaryFolder(t));
					const file = ownCopy(join(model, name), join(modelFolder, name));
					const what = damageAnywhere(file, draw);
					await repeatable(what, async () => {
						const { score, novelty } = await second({ ...options, model });
						// Not everything in the manifest is used.
						if (name !== "manifest.json") assert.equal(novelty.source, "no-embedder");
						if (novelty.source !== "no-embedder") return assert.equal(score, right);
						assert.equal(score, neutral);
						assert.ok(novelty.reason.includes(name === "manifest.json" ? model : file));
					});
				}
			});

	const manifests = [
		["of another format", { format: 1 }, /format: expected 4, got 1/],
		["of other dimensions", { dimensions: 768 }, /dimensions: expected 384, got 768/],
		["of another window", { maxTokens: 128 }, /maxTokens: expected 512, got 128/],
		["without files", { files: [] }, /names no file/],
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
});

test("evaluateValue scores with the embedder switched off", async () => {
	const found = await assertWorksWithout({ embedder: "off" }, /switched off/);
	assert.equal(found.mode, "off");
});
