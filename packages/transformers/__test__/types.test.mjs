import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../__test__/support/model-folder.mjs";
import { compile } from "../../../__test__/support/typescript.mjs";

const declarations = fileURLToPath(new URL("../index.d.ts", import.meta.url));

const USES = `
import { env, pipeline, type FeatureExtractionPipeline, type Tensor } from "@huggingface/transformers";
env.allowRemoteModels = false;
env.backends.onnx.wasm.numThreads = 1;
const extractor: FeatureExtractionPipeline = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { dtype: "fp32" });
const output: Tensor = await extractor(["a", "b"], { pooling: "mean", normalize: true });
const rows: number[][] = output.tolist();
const numbers: number[] = Array.from(output.data);
// @ts-expect-error: another task
await pipeline("summarization");
// @ts-expect-error: another model
await pipeline("feature-extraction", "Xenova/bge-small-en-v1.5");
// @ts-expect-error: no pooling
await extractor("a");
// @ts-expect-error: another pooling
await extractor("a", { pooling: "cls", normalize: true });
export { numbers, rows };
`;

test("index.d.ts has the supported types, and its example compiles", (t) => {
	const folder = temporaryFolder(t);
	const [, example] = /```ts\n([\s\S]*?) \* ```/.exec(readFileSync(declarations, "utf8"));
	writeFileSync(join(folder, "uses.mts"), USES);
	writeFileSync(join(folder, "example.mts"), example.replaceAll(/^ \* /gm, ""));
	const paths = { "@huggingface/transformers": [declarations] };
	assert.equal(compile(folder, { noEmit: true, types: [], paths }), "");
});
