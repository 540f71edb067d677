import type { FeatureExtractionPipeline } from "@huggingface/transformers";
import { MODEL_FOLDER } from "../paths.js";

const MODEL = "Xenova/all-MiniLM-L6-v2";

let loading: Promise<FeatureExtractionPipeline> | undefined;

async function load(): Promise<FeatureExtractionPipeline> {
	const { env, pipeline } = await import("@huggingface/transformers");
	env.localModelPath = MODEL_FOLDER;
	env.allowRemoteModels = false;
	return pipeline("feature-extraction", MODEL, { dtype: "fp32" });
}

/** The embedding of a text: 384 numbers, L2-normalised. The first call loads the model. */
export async function embed(text: string): Promise<Float32Array> {
	loading ??= load();
	const extractor = await loading;
	const output = await extractor(text, { pooling: "mean", normalize: true });
	return Float32Array.from(output.data as Float32Array);
}
