import path from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The plain export, laid out as transformers.js wants local models. */
export const MODEL_FOLDER = path.join(ROOT, "benchmark/.model");

/** The plain export quantised; absent where it could not be made. */
export const Q8_MODEL = path.join(
	MODEL_FOLDER,
	"Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx",
);

/** The folder for the newest transformers.js; empty if that could not be installed. */
export const TRANSFORMERS_4 = path.join(ROOT, "benchmark/transformers-4");

/** Finished measurements and the charts drawn from them. */
export const RECORD_FOLDER = path.join(ROOT, "benchmark/record");

/** Recorded agent runs, and golden/ with the scores of the SDK. They may be absent. */
export const TRACES_FOLDER = path.resolve(ROOT, "../shared/traces");
