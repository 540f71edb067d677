import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertEndedWell, run } from "../support/child.mjs";
import { damages, edit } from "../support/damages.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { modelFolder, modelsFolder } from "../support/own-models.mjs";
import { trace } from "../support/traces.mjs";

const GRAPH = "onnx/model.onnx";

/** Files that are damaged in every way. */
const DAMAGED = [
	...readdirSync(modelFolder("bert"), { recursive: true })
		.filter((name) => name.includes("."))
		.map((name) => ["bert", name]),
	["external", GRAPH],
	["external", "onnx/model.onnx_data"],
	["xlm-roberta", "tokenizer.json"],
	["roberta", "tokenizer.json"],
	["pooled", GRAPH],
];

const SWAPPED = ["config.json", "tokenizer.json", GRAPH, "1_Pooling/config.json"];
const AMONG = ["bert", "xlm-roberta", "roberta", "long", "narrow"];

/** Changes the model in a tokenizer.json. */
const model = (change) => (file) => {
	Object.assign(file.model, change(file.model));
};

/** A modules.json with a pooling at a path only. */
const pooling = (path) => () => [{ path, type: "Pooling" }];

/** Changes of the files of "bert", with which it cannot be used. */
const EDITED = {
	"config.json": {
		"a string for a number": { max_position_embeddings: "128" },
		"no positions": { max_position_embeddings: 0 },
		"fewer positions than special tokens": { max_position_embeddings: 2 },
		"negative positions": { max_position_embeddings: -1 },
		"a number for a name": { model_type: 5 },
	},
	"1_Pooling/config.json": {
		"two modes": { pooling_mode_cls_token: true },
		"no mode": { pooling_mode_mean_tokens: false },
		"an unknown mode": { pooling_mode: "attention" },
		"another width": { word_embedding_dimension: 99 },
	},
	"tokenizer_config.json": {
		"a token that is unknown": { cls_token: "<cls>" },
		"one token": { model_max_length: 1 },
		"a list of tokens": { sep_token: [] },
	},
	"special_tokens_map.json": { "a token that is unknown": { sep_token: "<sep>" } },
	"tokenizer.json": {
		"no model": { model: undefined },
		"an unknown normalizer": { normalizer: { type: "Magic" } },
		"an unknown splitter": { pre_tokenizer: { type: "Magic" } },
		"an unknown frame": { post_processor: { type: "BertProcessing" } },
		"large ids": model(({ vocab }) => ({ vocab: { ...vocab, server: 1_000_000 } })),
		"a larger id by one": model(({ vocab }) => ({
			vocab: { ...vocab, surplus: Object.keys(vocab).length },
		})),
		"negative ids": model(({ vocab }) => ({ vocab: { ...vocab, server: -1 } })),
		"another kind of model": model(() => ({ type: "BPE" })),
		"an unknown kind of model": model(() => ({ type: "Magic" })),
		"no unknown token": model(({ vocab, unk_token }) => ({
			vocab: { ...vocab, [unk_token]: undefined },
		})),
		"a list for the vocabulary": model(() => ({ vocab: [] })),
		"no words": model(() => ({ vocab: {} })),
	},
	"modules.json": {
		"a module that is not in the graph": (modules) => [
			...modules,
			{ path: "3_Dense", type: "sentence_transformers.models.Dense" },
		],
		"an object": () => ({}),
		"an absolute path": pooling(join(modelFolder("bert"), "1_Pooling")),
		"a path that leads upwards": pooling("1_Pooling/../1_Pooling"),
		"paths that are numbers": pooling(1),
	},
};

/** All damaged folders: a name, the folder, and whether its vectors may only be those of the whole one. */
function* damagedFolders(parent) {
	const copy = (base, name) => {
		const folder = join(parent, name.replaceAll("/", " "));
		cpSync(modelFolder(base), folder, { recursive: true });
		return folder;
	};
	for (const [base, file] of DAMAGED)
		for (const [damage, apply] of Object.entries(damages)) {
			const name = `${base}, ${file} ${damage}`;
			const folder = copy(base, name);
			apply(join(folder, file));
			yield { name, folder, base };
		}
	for (const file of SWAPPED)
		for (const base of AMONG)
			for (const other of AMONG.filter((other) => other !== base)) {
				const name = `${base} with ${file} of ${other}`;
				const folder = copy(base, name);
				cpSync(join(modelFolder(other), file), join(folder, file));
				yield { name, folder, base };
			}
	const failing = { base: "bert", fails: true };
	for (const [file, changes] of Object.entries(EDITED))
		for (const [what, change] of Object.entries(changes)) {
			const name = `${file} with ${what}`;
			const folder = copy("bert", name);
			edit(
				join(folder, file),
				typeof change === "function" ? change : (value) => ({ ...value, ...change }),
			);
			yield { name, folder, ...failing };
		}
	const broken = join(modelsFolder, "broken");
	for (const name of readdirSync(broken)) yield { name, folder: join(broken, name), ...failing };
}

test("damaged folders of models give no scores, or those of the model that they are", async (t) => {
	const parent = join(temporaryFolder(t), "models");
	mkdirSync(parent);
	const cases = [...damagedFolders(parent)];
	assert.ok(cases.length >= 300, `${cases.length} folders`);
	const body = async ({ scoring, input, send }) => {
		const { Scorer } = scoring;
		process.on("warning", () => {});
		const text = "Restart the server, 重启 и снова.";
		const wholes = new Map();
		for (const base of new Set(input.cases.map(({ base }) => base))) {
			const options = { model: input.folders[base], embedder: "required" };
			wholes.set(base, { options, vector: await new Scorer(options).embed(text) });
		}
		for (const { name, folder, base } of input.cases) {
			const scorer = new Scorer({ model: folder });
			const { novelty } = await scorer.explainValue(input.trace);
			const found = { name, source: novelty.source, reason: novelty.reason };
			if (novelty.source !== "no-embedder") {
				const vector = await scorer.embed(text);
				const { options, vector: whole } = wholes.get(base);
				found.isSame =
					vector.length === whole.length && vector.every((number, at) => number === whole[at]);
				found.isFinite = vector.every(Number.isFinite);
				const restored = Scorer.restore(await scorer.snapshot(), options);
				const { code } = await restored.catch((error) => error);
				found.isRefused = code === "INVALID_SNAPSHOT";
			}
			scorer.close();
			send(found);
		}
	};
	const folders = Object.fromEntries(cases.map(({ base }) => [base, modelFolder(base)]));
	const input = { cases, folders, trace: trace() };
	const ended = await run(body, { input, killAfterMs: 600_000 });
	assertEndedWell(ended);
	assert.equal(ended.values.length, cases.length);
	for (const [index, found] of ended.values.entries()) {
		const { name, source, reason, isSame, isRefused } = found;
		if (source === "no-embedder") {
			assert.ok(reason.length > 20, `${name}: ${reason}`);
			assert.doesNotMatch(reason, /panick/, name);
			continue;
		}
		assert.ok(!cases[index].fails, `${name}: it gives scores`);
		assert.ok(found.isFinite, `${name}: not finite`);
		assert.ok(isSame || isRefused, `${name}: another model without a word`);
	}
});
