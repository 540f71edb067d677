import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as transformers from "@knowledgepulse/scoring-transformers";
import { run } from "../../../__test__/support/child.mjs";
import { MODEL, OPTIONS, ownExtractor, realExtractor } from "./support.mjs";

const { env, pipeline } = transformers;
const TASK = "feature-extraction";

/** Every error for a missing part names the package that has it. */
const missing = (asked) => (error) => {
	assert.ok(error instanceof Error, error);
	assert.ok(error.message.startsWith(asked), error.message);
	assert.match(error.message, / the real @huggingface\/transformers/);
	assert.match(error.message, /@knowledgepulse\/scoring-transformers/);
	return true;
};

for (const [asked, ...args] of [
	['pipeline("text-generation")', "text-generation", MODEL],
	["pipeline(undefined)"],
	['the model "Xenova/bge-small-en-v1.5"', TASK, "Xenova/bge-small-en-v1.5"],
	['the option device: "webgpu"', TASK, MODEL, { device: "webgpu" }],
	['the option model_file_name: "b"', TASK, MODEL, { model_file_name: "b" }],
])
	test(`pipeline rejects ${asked}`, () => assert.rejects(pipeline(...args), missing(asked)));

test("pipeline has one model under its names, and by default", async () => {
	const first = await ownExtractor();
	const expected = await first("hello", OPTIONS);
	const others = [undefined, null, "sentence-transformers/all-MiniLM-L6-v2"];
	for (const model of others) {
		const extractor = await pipeline(TASK, model);
		assert.deepEqual(await extractor("hello", OPTIONS), expected);
		assert.equal(extractor.task, TASK);
	}
});

test("pipeline accepts options that concern loading", async () => {
	const events = [];
	const extractor = await pipeline(TASK, MODEL, {
		dtype: "q8",
		device: "auto",
		quantized: true,
		cache_dir: "./models",
		local_files_only: true,
		revision: "main",
		session_options: {},
		subfolder: "onnx",
		use_external_data_format: false,
		config: null,
		progress_callback: (event) => events.push(event),
	});
	assert.deepEqual(events, [{ status: "ready", task: TASK, model: MODEL }]);
	assert.equal((await extractor("hello", OPTIONS)).size, 384);
});

for (const [asked, options] of [
	['pooling: "none"', undefined],
	['pooling: "none"', { normalize: true }],
	['pooling: "cls"', { pooling: "cls", normalize: true }],
	["normalize: false", { pooling: "mean" }],
	["normalize: false", { pooling: "mean", normalize: false }],
	["quantize: true", { ...OPTIONS, quantize: true }],
])
	test(`extractor rejects ${asked} of ${JSON.stringify(options)}`, async () => {
		const extractor = await ownExtractor();
		await assert.rejects(extractor("hello", options), missing(asked));
	});

test("extractor rejects an empty array, null and undefined as transformers.js does", async () => {
	for (const extractor of [await ownExtractor(), await realExtractor()])
		for (const texts of [[], null, undefined])
			await assert.rejects(extractor(texts, OPTIONS), Error);
});

test("extractor rejects other values than texts", async () => {
	const extractor = await ownExtractor();
	for (const [texts, found] of [
		[5, "5"],
		[["a", 5], "5"],
		[[["a", "b"]], "a,b"],
		[Symbol("s"), "Symbol(s)"],
	])
		await assert.rejects(extractor(texts, OPTIONS), {
			name: "TypeError",
			message: `expected a text, got ${found}`,
		});
});

test("env takes the settings that callers make", () => {
	env.allowLocalModels = false;
	env.cacheDir = "./models";
	env.backends.onnx.logLevel = "error";
	env.backends.onnx.wasm.numThreads = 1;
	assert.equal(env.cacheDir, "./models");
});

test("output names the real package for what only its tensors have", async () => {
	const [own, real] = await Promise.all([ownExtractor(), realExtractor()]);
	const [output, other] = await Promise.all(
		[own, real].map((extract) => extract("hello", OPTIONS)),
	);
	const { prototype } = Object.getPrototypeOf(other).constructor;
	const names = [...Reflect.ownKeys(prototype), ...Reflect.ownKeys(other), "0", "1"];
	const absent = names.filter((name) => !(name in output));
	assert.ok(absent.length > 40);
	for (const name of absent)
		assert.throws(() => output[name], missing(`${String(name)} of a tensor`));
	assert.throws(() => own.tokenizer("hello"), missing("tokenizer"));
	assert.throws(() => own.model.config, missing("model"));
	// What libraries look for in any value.
	assert.equal(JSON.parse(JSON.stringify(output)).size, 384);
	assert.equal(await output, output);
	assert.equal(output.asymmetricMatch, undefined);
});

const ABSENT = `AutoConfig AutoModel AutoProcessor AutoTokenizer Tensor cos_sim dot
	mean_pooling`.split(/\s+/);

for (const name of ABSENT)
	test(`${name} can be imported, and throws when it is used`, async () => {
		const { [name]: absent } = transformers;
		const uses = [() => absent.from_pretrained(MODEL), () => absent([1], [1]), () => new absent()];
		for (const use of uses) assert.throws(use, missing(name));
	});

test("import of another name fails with the name of the module", () => {
	const name = "@knowledgepulse/scoring-transformers";
	const { status, stderr } = spawnSync(
		process.execPath,
		["--input-type=module", "-e", `import { WhisperModel } from "${name}"`],
		{ cwd: new URL(".", import.meta.url), encoding: "utf8" },
	);
	assert.equal(status, 1);
	assert.match(stderr, /SyntaxError: .*WhisperModel/);
	assert.ok(stderr.includes(name), stderr);
});

test("ES modules and CommonJS get the same exports", () => {
	const commonJs = createRequire(import.meta.url)("@knowledgepulse/scoring-transformers");
	const { default: _, "module.exports": __, ...named } = transformers;
	assert.deepEqual(Object.keys(named), Object.keys(commonJs).sort());
	for (const [name, value] of Object.entries(named)) assert.equal(value, commonJs[name], name);
});

test("pipeline rejects without the model, and works once there is one", async () => {
	const body = async ({ scoring }) => {
		const { pipeline } = await import("@knowledgepulse/scoring-transformers");
		const load = () => pipeline("feature-extraction");
		const failureOf = (call) => call.catch(({ name, code }) => ({ name, code }));
		const error = await failureOf(load());
		scoring.configure({ embedder: "auto" });
		const extractor = await load();
		const options = { pooling: "mean", normalize: true };
		const { size } = await extractor("hello", options);
		scoring.configure({ embedder: "off" });
		const late = await failureOf(extractor("hello again", options));
		return { error, size, late };
	};
	const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" };
	const { value, stderr } = await run(body, { env });
	const error = { name: "ScoringError", code: "EMBEDDER_UNAVAILABLE" };
	assert.deepEqual(value, { error, size: 384, late: error }, stderr);
});
