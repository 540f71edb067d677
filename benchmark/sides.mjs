/** The sides, their models and packages, and the machine. */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The quantised plain export; absent if it could not be made. */
const Q8_MODEL = path.join(
	ROOT,
	"benchmark/.model/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx",
);

/** The folder for the newest transformers.js; empty if that could not be installed. */
const TRANSFORMERS_4 = path.join(ROOT, "benchmark/transformers-4");

const SIDES = ["exact", "fast", "typescript", "q8", "transformers4"];

export function isOurs(side) {
	return side === "exact" || side === "fast";
}

/** The environment of a process that runs a side. */
export function environmentOf(side) {
	const precision = side === "fast" ? "fast" : "exact";
	return { ...process.env, KNOWLEDGEPULSE_SCORING_PRECISION: precision };
}

/** Imports a side. */
export async function loadScorer(side) {
	if (isOurs(side)) {
		return import("@knowledgepulse/scoring");
	}
	const typescript = await import("../__test__/oracle/evaluate-value.mjs");
	typescript.useModel(side === "q8" ? "q8" : "fp32");
	if (side === "transformers4") {
		typescript.useLibrary(pathToFileURL(libraryOf(TRANSFORMERS_4)).href);
	}
	return typescript;
}

/** Fails if scores were made without the model, because that would be fast but no comparison. */
export function assertModel(scorer) {
	const state = scorer.status?.().embedder.state ?? "ready";
	if (state !== "ready") throw new Error(`the embedder is ${state}`);
}

/** The sides that can be measured here, and a sentence for each that cannot. */
export function availableSides() {
	const reasons = {};
	if (!existsSync(Q8_MODEL)) {
		reasons.q8 = "There is no quantised model: TypeScript with q8 is left out.";
	}
	// npm writes this file last.
	if (!existsSync(path.join(TRANSFORMERS_4, "node_modules/.package-lock.json"))) {
		reasons.transformers4 = "transformers.js 4 is not installed: it is left out.";
	}
	return {
		sides: SIDES.filter((side) => reasons[side] === undefined),
		missing: Object.values(reasons),
	};
}

const TRANSFORMERS = "@huggingface/transformers";

/** Describes this machine. */
export function describeEnvironment(sides) {
	const onnxRuntime = { typescript: runtimeOf(ROOT) };
	const packages = { [TRANSFORMERS]: versionOf(TRANSFORMERS), usearch: versionOf("usearch") };
	if (sides.includes("transformers4")) {
		packages[`${TRANSFORMERS} of ts 4`] = versionOf(TRANSFORMERS, TRANSFORMERS_4);
		onnxRuntime["ts 4"] = runtimeOf(TRANSFORMERS_4);
	}
	return {
		date: new Date().toISOString(),
		cpu: os.cpus()[0].model,
		registers: registers(),
		cores: os.availableParallelism(),
		memoryGB: Math.round(os.totalmem() / 1e8) / 10,
		load: os.loadavg()[0],
		system: `${os.type()} ${os.release()} ${os.arch()}`,
		node: process.version,
		onnxRuntime,
		packages,
	};
}

/** The instructions for products of bytes, on which the time of `fast` depends; "unknown" except on Linux x64. */
function registers() {
	let flags;
	try {
		[, flags] = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"));
	} catch {
		return "unknown";
	}
	const has = (flag) => flags.includes(` ${flag}`);
	if (has("avx512_vnni"))
		return has("amx_int8") ? "AVX-512 with VNNI, and AMX" : "AVX-512 with VNNI";
	if (has("avx_vnni")) return "AVX-VNNI";
	return has("avx2") ? "AVX2" : "none of AVX2 or later";
}

/** The transformers.js of a folder. */
function libraryOf(folder) {
	return createRequire(path.join(folder, "package.json")).resolve(TRANSFORMERS);
}

/** The version that the transformers.js of a folder loads, wherever that was installed. */
function runtimeOf(folder) {
	return createRequire(libraryOf(folder))("onnxruntime-node/package.json").version;
}

/** The installed version; not every package lets its package.json be required. */
function versionOf(name, folder = ROOT) {
	const file = path.join(folder, "node_modules", name, "package.json");
	return JSON.parse(readFileSync(file, "utf8")).version;
}

/** Tolerance between two float32 implementations. */
const EXACT_TOLERANCE = 1e-4;

/** Tolerance of the fast precision against the exact one: 0.35 times 0.017 in novelty. */
const FAST_TOLERANCE = 0.006;

/** Returns the tolerance of a side against a float32 implementation. */
export function toleranceOf(side) {
	if (side === "fast") return FAST_TOLERANCE;
	return side === "q8" ? Number.POSITIVE_INFINITY : EXACT_TOLERANCE;
}

/** The sides that are compared with each other. */
const PAIRS = [
	["exact", "typescript"],
	["fast", "exact"],
	["q8", "typescript"],
	["transformers4", "typescript"],
];

/** Compares numbers, and remembers the greatest difference of each comparison. */
export class Agreement {
	greatest = {};

	/**
	 * Compares pairs of numbers; `what` names their places, in order. Throws at the first pair that is too
	 * far apart, or missing.
	 */
	check(what, places, values, others, tolerance) {
		this.greatest[what] ??= 0;
		for (const [index, place] of places.entries()) {
			const [value, other] = [values[index], others[index]];
			const difference = Math.abs(value - other);
			// Written so that NaN is a disagreement.
			if (!(difference <= tolerance)) {
				throw new Error(`results differ: ${what}: ${place} has ${value} and ${other}`);
			}
			this.greatest[what] = Math.max(this.greatest[what], difference);
		}
	}

	/** Compares the scores of the sides' batches with each other. */
	compare(name, ids, batches) {
		for (const [side, other] of PAIRS) {
			if (!batches[side] || !batches[other]) continue;
			const what = `${name}, ${side} against ${other}`;
			this.check(what, ids, batches[side].scores, batches[other].scores, toleranceOf(side));
		}
	}
}
