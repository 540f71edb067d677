/** How {@link pipeline} loads the model. Only `progress_callback` has an effect. */
export interface PipelineOptions {
	/** Called once, when the model is loaded. */
	progress_callback?: ((info: { status: "ready"; task: string; model: string }) => void) | null;
	device?: "cpu" | "auto" | null;
	dtype?: string | Readonly<Record<string, string>> | null;
	quantized?: boolean | null;
	cache_dir?: string | null;
	local_files_only?: boolean | null;
	revision?: string | null;
	subfolder?: string | null;
	session_options?: object | null;
	use_external_data_format?: boolean | number | Readonly<Record<string, boolean | number>> | null;
}

/** How texts are embedded. Only these values are supported, and the first two are required. */
export interface FeatureExtractionOptions {
	pooling: "mean";
	normalize: true;
	quantize?: false;
}

/** Rows of numbers. */
export interface Tensor {
	type: "float32";
	/** All rows, one after another. */
	data: ReturnType<typeof Float32Array.of>;
	/** The number of rows and the length of each, 384. */
	dims: [rows: number, length: number];
	/** The length of `data`. */
	size: number;
	/** The rows as arrays. */
	tolist(): number[][];
	/** Does nothing. */
	dispose(): void;
}

/**
 * Embeds a text, or several, each as a row of length 1: the mean over the first 512 tokens, normalised.
 * Works off the event loop.
 *
 * @throws Rejects with an `Error` for other options, with a `TypeError` for anything but texts, and as
 * `embed` of `@knowledgepulse/scoring` if the model is unavailable.
 */
export interface FeatureExtractionPipeline {
	(texts: string | readonly string[], options: FeatureExtractionOptions): Promise<Tensor>;
	task: "feature-extraction";
	/** Does nothing: the process shares one model. */
	dispose(): Promise<void>;
}

/**
 * Loads the model, which is part of the engine's package: nothing is downloaded.
 *
 * @param model Both names mean the same model, which is the default.
 * @throws Rejects with an `Error` for another task, model or option, and as `embed` of
 * `@knowledgepulse/scoring` if the model is unavailable.
 * @example
 * ```ts
 * import { pipeline } from "@huggingface/transformers";
 * const extractor = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2");
 * const output = await extractor("a text", { pooling: "mean", normalize: true });
 * output.data; // Float32Array(384)
 * ```
 */
export function pipeline(
	task: "feature-extraction",
	model?: "Xenova/all-MiniLM-L6-v2" | "sentence-transformers/all-MiniLM-L6-v2" | null,
	options?: PipelineOptions,
): Promise<FeatureExtractionPipeline>;

/** Takes any setting of transformers.js; none has an effect. */
export const env: {
	backends: {
		onnx: {
			wasm: Record<string, unknown>;
			webgl: Record<string, unknown>;
			webgpu: Record<string, unknown>;
			[setting: string]: unknown;
		};
		[backend: string]: unknown;
	};
	[setting: string]: unknown;
};
