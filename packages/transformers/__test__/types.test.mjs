import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
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

test("index.d.ts has the types of what works, and its example compiles", (t) => {
	const folder = mkdtempSync(join(tmpdir(), "kp-types-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const [, example] = /```ts\n([\s\S]*?) \* ```/.exec(readFileSync(declarations, "utf8"));
	writeFileSync(join(folder, "uses.mts"), USES);
	writeFileSync(join(folder, "example.mts"), example.replaceAll(/^ \* /gm, ""));
	const compilerOptions = {
		module: "nodenext",
		target: "es2022",
		strict: true,
		noEmit: true,
		types: [],
		paths: { "@huggingface/transformers": [declarations] },
	};
	const config = { compilerOptions, include: ["*.mts"] };
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
	const typescript = join(checkout, "node_modules/typescript");
	const { bin } = JSON.parse(readFileSync(join(typescript, "package.json")));
	const { status, stdout } = spawnSync(
		process.execPath,
		[join(typescript, bin.tsc), "-p", folder],
		{ encoding: "utf8" },
	);
	assert.equal(status, 0, stdout);
});
