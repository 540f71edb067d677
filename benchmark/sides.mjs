/** The sides, their models and packages, and the machine. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export const SIDES = ["exact", "fast", "typescript"];

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
	return isOurs(side)
		? import("@knowledgepulse/scoring")
		: import("../__test__/oracle/evaluate-value.mjs");
}

/** Fails if scores were made without the model, because that would be fast but no comparison. */
export function assertModel(scorer) {
	const state = scorer.status?.().embedder.state ?? "ready";
	if (state !== "ready") throw new Error(`the embedder is ${state}`);
}

const TRANSFORMERS = "@huggingface/transformers";

/** Describes this machine. */
export function describeEnvironment() {
	const { resolve } = createRequire(import.meta.url);
	const runtime = createRequire(resolve(TRANSFORMERS))("onnxruntime-node/package.json").version;
	const packages = { [TRANSFORMERS]: versionOf(TRANSFORMERS), usearch: versionOf("usearch") };
	return {
		date: new Date().toISOString(),
		cpu: os.cpus()[0].model,
		registers: registers(),
		cores: os.availableParallelism(),
		memoryGB: Math.round(os.totalmem() / 1e8) / 10,
		load: os.loadavg()[0],
		system: `${os.type()} ${os.release()} ${os.arch()}`,
		node: process.version,
		onnxRuntime: { typescript: runtime },
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

/** The installed version; not every package lets its package.json be required. */
function versionOf(name) {
	const file = path.join(ROOT, "node_modules", name, "package.json");
	return JSON.parse(readFileSync(file, "utf8")).version;
}

/** Tolerance between two float32 implementations. */
const EXACT_TOLERANCE = 1e-4;

/** Tolerance of the fast precision against the exact one: 0.35 times 0.017 in novelty. */
const FAST_TOLERANCE = 0.006;

/** Returns the tolerance of a side against a float32 implementation. */
export function toleranceOf(side) {
	return side === "fast" ? FAST_TOLERANCE : EXACT_TOLERANCE;
}

/** The sides that are compared with each other. */
const PAIRS = [
	["exact", "typescript"],
	["fast", "exact"],
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
