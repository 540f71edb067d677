import assert from "node:assert/strict";
import { copyFileSync, cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { embed, Scorer } from "@knowledgepulse/scoring";
import { run, valueFrom } from "../support/child.mjs";
import { edit } from "../support/damages.mjs";
import { copyOf, cosine, modelFolder, plainFolder, sentences } from "../support/own-models.mjs";
import { sharing } from "../support/stores.mjs";
import { says, trace } from "../support/traces.mjs";

const scorerOf = (model, options) => new Scorer({ model, embedder: "required", ...options });

const required = (name, options) => scorerOf(modelFolder(name), options);

const TEXT = "Restart the server after the penalty.";

test("scorers with different models live side by side, each with its width", async () => {
	const names = ["bert", "long", "narrow"];
	const scorers = [...names.map((name) => required(name)), new Scorer()];
	const calls = scorers.flatMap((scorer) =>
		[TEXT, TEXT, sentences.zh[0]].map((text) => scorer.explainValue(says(text))),
	);
	const reports = await Promise.all(calls);
	const widths = scorers.map((scorer) => scorer.status().embedder.dimensions);
	assert.deepEqual(widths, [48, 64, 4, 384]);
	reports.forEach(({ novelty, text }, index) => {
		assert.equal(novelty.source, index % 3 === 0 ? "empty-cache" : "cache");
		if (index % 3 === 1) assert.ok(novelty.maxSimilarity > 0.99999);
		const name = names[Math.floor(index / 3)] ?? "sentence-transformers/all-MiniLM-L6-v2";
		assert.equal(text.modelName, name);
	});
	assert.equal((await embed(TEXT)).length, 384);
});

test("embed gives the vector of the model with prefix, pooling and output", async () => {
	const vector = (name, options, text = TEXT) => required(name, options).embed(text);
	const plain = await vector("bert");
	assert.ok(Math.abs(1 - Math.hypot(...plain)) < 1e-6);
	const prefixed = await vector("bert", { prefix: "query: " });
	assert.deepEqual(prefixed, await vector("bert", {}, `query: ${TEXT}`));
	const cls = await vector("bert", { pooling: "cls" });
	const last = await vector("bert", { pooling: "last" });
	assert.ok(cosine(cls, last) < 0.999 && cosine(cls, plain) < 0.999);
	const raw = await vector("bert", { normalize: false });
	assert.ok(Math.abs(1 - Math.hypot(...raw)) > 1e-3);
	assert.ok(Math.abs(1 - cosine(raw, plain)) < 1e-6);
	const pooled = await vector("pooled");
	const named = { output: "token_embeddings", pooling: "mean" };
	assert.ok(Math.abs(1 - cosine(pooled, await vector("pooled", named))) < 1e-6);
	const given = await vector("pooled", { pooling: "cls" });
	assert.ok(cosine(pooled, given) < 0.999);
});

test("the option pooling replaces a pooled output, also if the folder names the same pooling", async (t) => {
	const folder = copyOf(t, "pooled");
	cpSync(join(modelFolder("roberta"), "1_Pooling"), join(folder, "1_Pooling"), { recursive: true });
	edit(join(folder, "1_Pooling/config.json"), (it) => ({ ...it, word_embedding_dimension: 40 }));
	const vector = (...options) => scorerOf(...options).embed(TEXT);
	assert.deepEqual(await vector(folder), await vector(modelFolder("pooled")));
	const expected = await vector(modelFolder("pooled"), { pooling: "cls" });
	assert.deepEqual(await vector(folder, { pooling: "cls" }), expected);
});

test("maxTokens bounds the window", async () => {
	const long = sentences.en.join(" ").repeat(4);
	const text = async (options) => (await required("bert", options).explainValue(says(long))).text;
	const { tokens, isCut } = await text();
	assert.deepEqual([tokens, isCut], [128, true]);
	assert.deepEqual((await text({ maxTokens: 40 })).tokens, 40);
});

test("report.text.unknownTokens is the share of unknown tokens", async () => {
	const scorer = required("bert");
	const share = async (text) => (await scorer.explainValue(says(text))).text.unknownTokens;
	assert.equal(await share("Restart the server"), 0);
	assert.equal(await share("ꙮ ꙮ ꙮ"), 1);
	assert.equal(await share(""), 0);
	const half = await share("penalty ꙮ penalty ꙮ");
	assert.ok(half > 0 && half < 1, String(half));
});

for (const [name, options, message] of [
	["bert", { maxTokens: 129 }, /config\.json: maxTokens: expected at most 128, got 129/],
	["bert", { maxTokens: 2 }, /2 special tokens frame a text: expected windows of more, got 2/],
	["bert", { output: "logits" }, /expected an output logits, got last_hidden_state/],
	["pooled", { output: "sentence_embedding", pooling: "cls" }, /which is pooled/],
	["bert", { precision: "fast" }, /model_quantized\.onnx: No such file/],
	["bert", { backend: "native" }, /needs ONNX Runtime, not the backend "native"/],
	["without a pooling", {}, /pooling: expected "mean", "cls" or "last"/],
	["built-in", { pooling: "mean" }, /expected no pooling, because this is the built-in model/],
])
	test(`a scorer rejects the options ${JSON.stringify(options)} for the model ${name}`, async () => {
		const others = { "without a pooling": plainFolder, "built-in": undefined };
		const scorer = scorerOf(name in others ? others[name] : modelFolder(name), options);
		await assert.rejects(scorer.evaluateValue(trace()), { code: "EMBEDDER_UNAVAILABLE", message });
	});

test("a snapshot of one model is refused with another, and with other options", async () => {
	const scorer = required("bert");
	await scorer.evaluateValue(says(TEXT));
	const bytes = await scorer.snapshot();
	const model = modelFolder("bert");
	const restored = await Scorer.restore(bytes, { model, cache: { maxElements: 5 } });
	assert.equal((await restored.explainValue(says(TEXT))).novelty.source, "cache");
	for (const options of [
		{},
		{ model: modelFolder("half") },
		{ model, pooling: "cls" },
		{ model, prefix: "query: " },
		{ model, maxTokens: 100 },
	])
		await assert.rejects(Scorer.restore(bytes, options), {
			code: "INVALID_SNAPSHOT",
			message: /model/,
		});
});

test("a snapshot with vectors of another length than those of its model is refused", async () => {
	const model = modelFolder("bert");
	const scorer = new Scorer({ model });
	// As if they were from the model, which is not loaded yet.
	scorer.cache.add(new Float32Array(384).fill(1));
	const bytes = await scorer.snapshot();
	const refused = { code: "INVALID_SNAPSHOT", message: /vectorLen: expected 48, got 384$/ };
	await assert.rejects(Scorer.restore(bytes, { model }), refused);
	const off = await Scorer.restore(bytes, { model, embedder: "off" });
	assert.equal(off.status().cacheSize, 1);
});

test("configure takes another model, which empties the cache", async () => {
	const body = async ({ scoring, input }) => {
		const { configure, explainValue, status } = scoring;
		const found = [];
		const score = async () => {
			const { novelty, text } = await explainValue(input.trace);
			found.push([novelty.source, text.modelName]);
		};
		await score();
		await scoring.evaluateValue(input.trace);
		configure({ model: input.bert, pooling: "cls" });
		await explainValue(input.trace, { remember: false });
		await score();
		await score();
		configure({ model: input.half });
		await score();
		return { found, size: status().cacheSize };
	};
	const input = { trace: trace(), bert: modelFolder("bert"), half: modelFolder("half") };
	const { found, size } = await valueFrom(body, { input });
	assert.deepEqual(found, [
		["empty-cache", "sentence-transformers/all-MiniLM-L6-v2"],
		["empty-cache", "bert"],
		["cache", "bert"],
		["empty-cache", "half"],
	]);
	assert.equal(size, 1);
});

test("a live cache takes vectors of the model's width after warmup()", async () => {
	const scorer = required("long");
	await scorer.warmup();
	const vector = await scorer.embed(TEXT);
	scorer.cache.add(vector);
	assert.ok(scorer.cache.maxCosineSimilarity(vector) > 0.99999);
	const { novelty } = await scorer.explainValue(says(TEXT));
	assert.equal(novelty.source, "cache");
	assert.throws(() => scorer.cache.add(new Float32Array(384)), {
		message: "Expected 64 dimensions, got 384",
	});
});

test("scorers with another model share a store", async () => {
	const { scorer } = sharing();
	const options = { model: modelFolder("long"), storeMode: "required" };
	const texts = sentences.ja.concat(sentences.ja);
	const alone = required("long");
	const [first, second] = [scorer(options), scorer(options)];
	for (const [index, text] of texts.entries()) {
		const one = index % 2 ? first : second;
		const found = await one.explainValue(says(text));
		const expected = await alone.explainValue(says(text));
		assert.equal(found.novelty.source, "store");
		assert.equal(found.novelty.maxSimilarity, expected.novelty.maxSimilarity);
	}
	const other = scorer({ storeMode: "required" });
	await assert.rejects(other.evaluateValue(trace()), { code: "STORE_MISMATCH", message: /model/ });
});

test("fast precision takes model_quantized.onnx", async (t) => {
	const folder = copyOf(t, "bert");
	const graph = join(modelFolder("half"), "onnx/model.onnx");
	copyFileSync(graph, join(folder, "onnx/model_quantized.onnx"));
	const pooling = join(modelFolder("half"), "1_Pooling");
	cpSync(pooling, join(folder, "1_Pooling"), { recursive: true });
	const scorer = scorerOf(folder, { precision: "fast" });
	assert.deepEqual(await scorer.embed(TEXT), await required("half").embed(TEXT));
	assert.equal(scorer.status().embedder.precision, "fast");
});

test("the graph of an encoder is used if there is no other", async (t) => {
	const folder = copyOf(t, "half");
	renameSync(join(folder, "onnx/model.onnx"), join(folder, "onnx/encoder_model.onnx"));
	const scorer = scorerOf(folder);
	assert.deepEqual(await scorer.embed(TEXT), await required("half").embed(TEXT));
});

test("a scorer shares the loaded model, whose folder is not read again", async (t) => {
	const folder = copyOf(t, "bert");
	const first = scorerOf(folder);
	const before = await first.embed(TEXT);
	edit(join(folder, "1_Pooling/config.json"), (it) => ({ ...it, pooling_mode: "attention" }));
	rmSync(join(folder, "tokenizer.json"));
	const second = scorerOf(folder);
	assert.equal(second.status().embedder.state, "ready");
	const snapshot = await second.snapshot();
	assert.deepEqual(await second.embed(TEXT), before);
	assert.deepEqual(await second.snapshot(), snapshot);
	await first.remember(says(TEXT));
	const restored = await Scorer.restore(await first.snapshot(), { model: folder });
	const { novelty } = await restored.explainValue(says(TEXT));
	assert.equal(novelty.source, "cache");
});

test("warmup() loads a model whose tokenizer has no special tokens", async (t) => {
	const folder = copyOf(t, "bert");
	edit(join(folder, "tokenizer.json"), (it) => ({ ...it, post_processor: null }));
	const scorer = scorerOf(folder);
	assert.equal((await scorer.warmup()).embedder.state, "ready");
});

/** The environment variable of an option. */
const nameOf = (option) => `KNOWLEDGEPULSE_SCORING_${option.replace(/[A-Z]/, "_$&").toUpperCase()}`;

test("environment variables set a model and its options", async () => {
	const body = async ({ scoring }) => {
		const vector = await scoring.embed("Restart the server");
		return { vector, status: scoring.status().embedder };
	};
	const options = {
		pooling: "cls",
		normalize: false,
		maxTokens: 100,
		prefix: "query: ",
		output: "last_hidden_state",
	};
	const env = { [nameOf("model")]: modelFolder("bert") };
	for (const [name, value] of Object.entries(options)) env[nameOf(name)] = String(value);
	const { vector, status } = await valueFrom(body, { env });
	const expected = await required("bert", options).embed("Restart the server");
	assert.deepEqual(vector, expected);
	assert.deepEqual([status.modelName, status.maxTokens], ["bert", 100]);
	const rejected = async ({ scoring, input }) => {
		const { code, path } = await scoring.evaluateValue(input).catch((error) => error);
		return { code, path };
	};
	const path = nameOf("maxTokens");
	const found = await valueFrom(rejected, { input: trace(), env: { [path]: "many" } });
	assert.deepEqual(found, { code: "INVALID_OPTION", path });
});

test("one warning says that the built-in model does not know the scripts of most texts", async () => {
	const body = async ({ scoring, input }) => {
		const codes = [];
		process.on("warning", ({ code, message }) => codes.push([code, message]));
		const scorer = new scoring.Scorer(input.options);
		for (const text of input.texts) await scorer.embed(text);
		await new Promise(setImmediate);
		return codes;
	};
	const warnings = async (languages, options) => {
		const texts = languages.flatMap((language) => sentences[language]);
		return (await run(body, { input: { texts, options } })).value;
	};
	assert.deepEqual(await warnings(["en", "es"]), []);
	assert.deepEqual(await warnings(["ru"], { model: modelFolder("bert") }), []);
	const found = await warnings(["ru", "ja", "zh"]);
	assert.equal(found.length, 1);
	assert.equal(found[0][0], "KNOWLEDGEPULSE_UNKNOWN_SCRIPTS");
	assert.match(found[0][1], /option model/);
});
