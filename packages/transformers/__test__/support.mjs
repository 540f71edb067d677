/** This package, and the one that it replaces. */

import { fileURLToPath } from "node:url";
import * as real from "@huggingface/transformers";
import { pipeline } from "@knowledgepulse/scoring-transformers";

export const MODEL = "Xenova/all-MiniLM-L6-v2";
export const OPTIONS = { pooling: "mean", normalize: true };

real.env.localModelPath = fileURLToPath(new URL("../../../benchmark/.model", import.meta.url));
real.env.allowRemoteModels = false;

/** The extractor of transformers.js. */
export const realExtractor = () => real.pipeline("feature-extraction", MODEL, { dtype: "fp32" });

/** The extractor of this package. */
export const ownExtractor = () => pipeline("feature-extraction", MODEL);
