import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Q8_MODEL, TRANSFORMERS_4 } from "./paths.mjs";

export const SIDES = ["exact", "fast", "typescript", "q8", "transformers4"];

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
		const require = createRequire(path.join(TRANSFORMERS_4, "package.json"));
		const file = require.resolve("@huggingface/transformers");
		typescript.useLibrary(pathToFileURL(file).href);
	}
	return typescript;
}

/** Fails if what was scored went without the model: that would be fast, and no comparison. */
export function assertModel(scorer) {
	const state = scorer.status?.().embedder.state ?? "ready";
	if (state !== "ready") throw new Error(`the embedder is ${state}`);
}

/** The sides that can be measured here, and a sentence for each that cannot. */
export async function availableSides() {
	const reasons = {};
	if (!existsSync(Q8_MODEL)) {
		reasons.q8 = "There is no quantised model: TypeScript with q8 is left out.";
	}
	// npm writes this file last.
	if (!existsSync(path.join(TRANSFORMERS_4, "node_modules/.package-lock.json"))) {
		reasons.transformers4 = "transformers.js 4 is not installed: it is left out.";
	}
	const { configure } = await import("@knowledgepulse/scoring");
	try {
		configure({ precision: "fast" });
	} catch (error) {
		reasons.fast = `This build has no fast precision, which is left out (${error.message}).`;
	}
	return {
		sides: SIDES.filter((side) => reasons[side] === undefined),
		missing: Object.values(reasons),
	};
}

/** The same as a map, with its values changed. */
export function mapValues(values, change) {
	return new Map([...values].map(([side, value]) => [side, change(value, side)]));
}
