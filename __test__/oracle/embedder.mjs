import { fileURLToPath } from "node:url";

/** The plain export, laid out as transformers.js wants local models. */
const MODEL_FOLDER = fileURLToPath(new URL("../../benchmark/.model/", import.meta.url));

const MODEL = "Xenova/all-MiniLM-L6-v2";

let loading;

/** Imports transformers.js. */
export async function importLibrary() {
	const transformers = await import("@huggingface/transformers");
	transformers.env.localModelPath = MODEL_FOLDER;
	transformers.env.allowRemoteModels = false;
	return transformers;
}

async function load() {
	const { pipeline } = await importLibrary();
	return pipeline("feature-extraction", MODEL, { dtype: "fp32" });
}

/** Returns the embedding of a text: 384 numbers, L2-normalised. The first call loads the model. */
export async function embed(text) {
	loading ??= load();
	const extractor = await loading;
	const output = await extractor(text, { pooling: "mean", normalize: true });
	return Float32Array.from(output.data);
}
