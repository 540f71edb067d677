/** Custom models, and the same models in transformers.js. */

import { cpSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AutoTokenizer, BertModel, env } from "@huggingface/transformers";
import { temporaryFolder } from "./model-folder.mjs";

env.allowRemoteModels = false;

/** The folders that `models/build.py` has made. */
export const modelsFolder = fileURLToPath(new URL("../.models/", import.meta.url));

/** The folder of a model. */
export const modelFolder = (name) => join(modelsFolder, name);

/** A copy of a model for the test `t`. */
export function copyOf(t, name) {
	const folder = join(temporaryFolder(t), "model");
	cpSync(modelFolder(name), folder, { recursive: true });
	return folder;
}

/** The plain float32 export of the built-in model. */
export const plainFolder = fileURLToPath(
	new URL("../../benchmark/.model/Xenova/all-MiniLM-L6-v2", import.meta.url),
);

/** Five sentences on five topics in each of several languages. */
export const sentences = JSON.parse(
	readFileSync(new URL("../models/sentences.json", import.meta.url), "utf8"),
);

/** Calls `load` with the name that transformers.js has for a folder. */
function loaded(folder, load) {
	env.localModelPath = dirname(folder);
	return load(basename(folder));
}

/** The tokenizer of a folder in transformers.js. */
export const referenceTokenizer = (folder) =>
	loaded(folder, (name) => AutoTokenizer.from_pretrained(name));

/** Returns a function that embeds a text with transformers.js; without `pooling`, the model pools. */
export async function referenceEmbedder(folder, pooling) {
	const tokenizer = await referenceTokenizer(folder);
	// Any class that runs an encoder will do: it passes the inputs of the graph.
	const model = await loaded(folder, (name) => BertModel.from_pretrained(name, { dtype: "fp32" }));
	return async (text) => {
		const inputs = tokenizer(text, { padding: true, truncation: true });
		const { data, dims, constructor: Tensor } = inputs.input_ids;
		const positions = BigInt64Array.from(data, (_, at) => BigInt(at));
		const output = await model({ ...inputs, position_ids: new Tensor("int64", positions, dims) });
		if (!pooling) return Array.from(output.sentence_embedding.data);
		const rows = output.last_hidden_state ?? output.token_embeddings;
		return pool(Array.from(rows.data), dims[1], pooling);
	};
}

function pool(numbers, tokens, pooling) {
	const width = numbers.length / tokens;
	if (pooling === "cls") return numbers.slice(0, width);
	if (pooling === "last") return numbers.slice(-width);
	return Array.from({ length: width }, (_, at) => {
		let sum = 0;
		for (let row = 0; row < tokens; row++) sum += numbers[row * width + at];
		return sum / tokens;
	});
}

/** The cosine similarity of two vectors. */
export function cosine(a, b) {
	const dot = (x, y) => x.reduce((sum, number, at) => sum + number * y[at], 0);
	return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
