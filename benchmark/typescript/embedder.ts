import type { FeatureExtractionPipeline, PreTrainedTokenizer } from "@huggingface/transformers";
import { MODEL_FOLDER } from "../paths.js";

const MODEL = "Xenova/all-MiniLM-L6-v2";

/** Which file of the model is loaded: the float32 one or the one quantised to 8 bits. */
export type Precision = "fp32" | "q8";

/** The module to import: the transformers.js of the repository, or another one. */
let library = "@huggingface/transformers";
let dtype: Precision = "fp32";
let loading: Promise<FeatureExtractionPipeline> | undefined;
let loadingTokenizer: Promise<PreTrainedTokenizer> | undefined;

/** Chooses the file of the model; to be called before the first text. */
export function useModel(precision: Precision): void {
	dtype = precision;
}

/** Chooses another transformers.js, by the URL of its module; to be called before the first text. */
export function useLibrary(url: string): void {
	library = url;
}

/** Imports transformers.js. */
export async function importLibrary(): Promise<typeof import("@huggingface/transformers")> {
	const transformers = await import(library);
	transformers.env.localModelPath = MODEL_FOLDER;
	transformers.env.allowRemoteModels = false;
	return transformers;
}

async function load(): Promise<FeatureExtractionPipeline> {
	const { pipeline } = await importLibrary();
	return pipeline("feature-extraction", MODEL, { dtype });
}

async function loadTokenizer(): Promise<PreTrainedTokenizer> {
	const { AutoTokenizer } = await importLibrary();
	return AutoTokenizer.from_pretrained(MODEL);
}

/** The embedding of a text: 384 numbers, L2-normalised. The first call loads the model. */
export async function embed(text: string): Promise<Float32Array> {
	loading ??= load();
	const extractor = await loading;
	const output = await extractor(text, { pooling: "mean", normalize: true });
	return Float32Array.from(output.data as Float32Array);
}

/** What {@link embed} gives to the model: the token ids of a text, 512 at most. */
export async function tokenIds(text: string): Promise<number[]> {
	loadingTokenizer ??= loadTokenizer();
	const tokenizer = await loadingTokenizer;
	// As the pipeline calls it, but for the tensor.
	const options = { padding: true, truncation: true, return_tensor: false };
	return tokenizer(text, options).input_ids;
}
