import type { configure, decide, embed } from "../../index.js";
import type { ScoreReport } from "./report.js";
import type { ScorerOptions } from "./scorer.js";
import type { StorePosition } from "./store.js";

/**
 * Options of {@link configure}. Omitted options keep their values, initially those of the environment
 * variables `KNOWLEDGEPULSE_SCORING_EMBEDDER`, `_BACKEND`, `_PRECISION`, `_NOVELTY`, `_MODEL`, `_POOLING`,
 * `_NORMALIZE`, `_MAX_TOKENS`, `_PREFIX`, `_OUTPUT`, `_LIBRARY` and `_THRESHOLD`, or else the defaults.
 */
export interface ConfigureOptions {
	/**
	 * If the embedder is unavailable, `"auto"` (default): novelty is 0.5, and one process warning is emitted;
	 * `"required"`: calls reject. `"off"`: it is not used, and novelty is 0.5.
	 */
	embedder?: "auto" | "off" | "required" | undefined;
	/**
	 * What runs the model. Default: `"native"` for the built-in model, `"onnx"` for another one.
	 *
	 * - `"native"`: the addon itself; also for `"fast"` precision if `"onnx"` is given.
	 * - `"onnx"`: the ONNX Runtime library. Similarities differ by up to 2e-6.
	 */
	backend?: "onnx" | "native" | undefined;
	/**
	 * The precision of the model. Default: `"exact"`.
	 *
	 * - `"exact"`: float32, as the published model.
	 * - `"fast"`: 8-bit integers, in a third to two thirds of the time; scores are within 0.006, and embeddings
	 *   the same on all machines.
	 */
	precision?: "exact" | "fast" | undefined;
	/**
	 * What novelty compares. Vectors of different kinds are never compared. Default: `"text"`.
	 *
	 * - `"text"`: the embedding of the first 512 tokens of the text, or as many as a custom model takes: the protocol's.
	 * - `"run"`: the embedding of the objective, joined with a sketch of the whole text, which has 384 numbers;
	 *   both count equally.
	 * - `"words"`: the sketch alone. No model is loaded.
	 */
	novelty?: "text" | "run" | "words" | undefined;
	/**
	 * The folder of another model: `config.json`, `tokenizer.json`, `onnx/model.onnx` and so on, as Hugging
	 * Face, sentence-transformers and transformers.js lay it out. With `"fast"` precision its graph is
	 * `onnx/model_quantized.onnx`. It resets the five options below. Default: the built-in model.
	 */
	model?: string | undefined;
	/**
	 * How token vectors are pooled: their mean, the first or the last one. Default: as
	 * `1_Pooling/config.json` says; required if that is missing, unless the graph pools.
	 */
	pooling?: "mean" | "cls" | "last" | undefined;
	/**
	 * Whether {@link embed} returns vectors of length 1; similarities are the same. Default: `true`, or
	 * `false` if there is a `modules.json` without a module that normalises.
	 */
	normalize?: boolean | undefined;
	/**
	 * The maximum number of tokens of a window, special ones included; at most the model's number of
	 * positions. Default: as `sentence_bert_config.json`, `tokenizer_config.json` or `config.json` says, or
	 * 512.
	 */
	maxTokens?: number | undefined;
	/**
	 * A prefix for each text, such as `"query: "`. Default: the default prompt in
	 * `config_sentence_transformers.json`, or nothing.
	 */
	prefix?: string | undefined;
	/**
	 * The output of the graph. Default: `sentence_embedding`, or else `last_hidden_state` or
	 * `token_embeddings`, pooled; with `pooling`, the latter two come first.
	 */
	output?: string | undefined;
	/**
	 * The ONNX Runtime library, 1.17 or later; a process can load only one. Default: that of the package
	 * `onnxruntime-node`, which the application installs.
	 */
	library?: string | undefined;
	/** The lowest score that {@link decide} accepts, in [0, 1]. Default: `0.75`, the protocol's. */
	threshold?: number | undefined;
}

/** The state of a scorer, with the {@link ScorerOptions} in effect; `mode` is the option `embedder`. */
export interface ScoringStatus {
	embedder: {
		mode: "auto" | "off" | "required";
		backend: "onnx" | "native";
		/** The precision in use: `"exact"` if the processor does not support `"fast"`. */
		precision: "exact" | "fast";
		/**
		 * The first score that needs the model loads it; a failure is retried after a second. With the novelty `"words"`
		 * `"ready"`, without a model.
		 */
		state: "idle" | "loading" | "ready" | "unavailable";
		/** Why it is unavailable; else `null`. */
		reason: string | null;
		/** The folder of the model; `null` without one, and if the addon is where other users can put one. */
		model: string | null;
		/** As in a {@link ScoreReport}; `null` until it is loaded. */
		modelName: string | null;
		/** The length of the vectors that novelty compares; `null` until the model is loaded. */
		dimensions: number | null;
		/** The maximum number of tokens of a window; `null` until the model is loaded. */
		maxTokens: number | null;
		/** The path of ONNX Runtime; `null` for `"native"`, and if there is none. */
		library: string | null;
		/** Its version; also `null` until it is loaded. */
		libraryVersion: string | null;
		/** How long the load took, in milliseconds; `null` until it has ended. */
		loadMs: number | null;
	};
	threads: number;
	/** `null` for no limit. */
	budgetMs: number | null;
	novelty: "text" | "run" | "words";
	threshold: number;
	/** Unanswered calls. */
	pending: number;
	/** Traces in the cache, or in the mirror of a store. During a search, the number before it. */
	cacheSize: number;
	/** `null` without {@link ScorerOptions.store}. */
	store: {
		mode: "auto" | "required";
		/** `"idle"` before the first call that needs it. */
		state: "idle" | "ready" | "unavailable";
		/** Why it is unavailable, or `null`. */
		reason: string | null;
		/** Whether reading continued where a snapshot ended, instead of at the beginning of the store. */
		isResumed: boolean;
		/** The {@link StorePosition} that the mirror has reached; `null` before the first page. */
		epoch: string | null;
		seq: number | null;
	} | null;
	/** Calls so far, without invalid ones, those after `close`, and warm-ups. */
	calls: {
		answered: number;
		failed: number;
		aborted: number;
		/** Those of `answered` that exceeded `budgetMs`. */
		overBudget: number;
	};
	/** Percentiles of the time to an answer, over the last 1,024 of `answered`; `null` before the first. */
	latencyMs: { p50: number; p90: number; p99: number } | null;
}
