/** This package, and the one that it replaces. */

import { fileURLToPath } from "node:url";
import * as real from "@huggingface/transformers";
import { pipeline } from "@knowledgepulse/scoring-transformers";

export const MODEL = "Xenova/all-MiniLM-L6-v2";
export const OPTIONS = { pooling: "mean", normalize: true };

/** Tolerance of vectors and scores. */
export const TOLERANCE = 1e-4;

real.env.localModelPath = fileURLToPath(new URL("../../../benchmark/.model", import.meta.url));
real.env.allowRemoteModels = false;

/** The extractor of transformers.js. */
export const realExtractor = () => real.pipeline("feature-extraction", MODEL, { dtype: "fp32" });

/** The extractor of this package. */
export const ownExtractor = () => pipeline("feature-extraction", MODEL);

/** The greatest difference between two lists of numbers. */
export function distance(found, expected) {
	let greatest = found.length === expected.length ? 0 : Number.NaN;
	for (const [index, number] of expected.entries())
		greatest = Math.max(greatest, Math.abs(number - found[index]));
	return greatest;
}
