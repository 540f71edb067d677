import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { compileModules, examplesIn } from "../../../__test__/support/typescript.mjs";

const declarations = fileURLToPath(new URL("../index.d.ts", import.meta.url));

const USES = `
import { env, pipeline, type FeatureExtractionPipeline, type Tensor } from "@huggingface/transformers";
env.allowRemoteModels = false;
env.backends.onnx.wasm.numThreads = 1;
const extractor: FeatureExtractionPipeline = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { dtype: "fp32" });
const output: Tensor = await extractor(["a", "b"], { pooling: "mean", normalize: true });
output.tolist() satisfies number[][];
Array.from(output.data) satisfies number[];
// @ts-expect-error: another task
await pipeline("summarization");
// @ts-expect-error: another model
await pipeline("feature-extraction", "Xenova/bge-small-en-v1.5");
// @ts-expect-error: no pooling
await extractor("a");
// @ts-expect-error: another pooling
await extractor("a", { pooling: "cls", normalize: true });
`;

test("index.d.ts has the supported types, and its example compiles", (t) => {
	const examples = examplesIn(readFileSync(declarations, "utf8"));
	assert.equal(examples.length, 1);
	const paths = { "@huggingface/transformers": [declarations] };
	assert.equal(compileModules(t, [USES, ...examples], { types: [], paths }), "");
});
