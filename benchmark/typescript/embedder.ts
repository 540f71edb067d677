import type { FeatureExtractionPipeline } from "@huggingface/transformers";
import { MODEL_FOLDER } from "../paths.js";

const MODEL = "Xenova/all-MiniLM-L6-v2";

/** Which file of the model is loaded: the float32 one or the one quantised to 8 bits. */
export type Precision = "fp32" | "q8";

let dtype: Precision = "fp32";
let loading: Promise<FeatureExtractionPipeline> | undefined;

/** Chooses the file of the model; to be called before the first text. */
export function useModel(precision: Precision): void {
	dtype = precision;
}

async function load(): Promise<FeatureExtractionPipeline> {
	const { env, pipeline } = await import("@huggingface/transformers");
	env.localModelPath = MODEL_FOLDER;
	env.allowRemoteModels = false;
	return pipeline("feature-extraction", MODEL, { dtype });
}

/** The embedding of a text: 384 numbers, L2-normalised. The first call loads the model. */
export async function embed(text: string): Promise<Float32Array> {
	loading ??= load();
	const extractor = await loading;
	const output = await extractor(text, { pooling: "mean", normalize: true });
	return Float32Array.from(output.data as Float32Array);
}
