import path from "node:path";

/** The repository. The compiled files lie in benchmark/dist/. */
export const ROOT = path.resolve(__dirname, "../..");

/** The plain float32 export, laid out as transformers.js wants local models. */
export const MODEL_FOLDER = path.join(ROOT, "benchmark/.model");

/** Recorded agent runs, and golden/ with the scores of the SDK. They may be absent. */
export const TRACES_FOLDER = path.resolve(ROOT, "../shared/traces");
