import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { Q8_MODEL, TRANSFORMERS_4 } from "./paths.js";

/**
 * Who is measured: this package in both precisions, the TypeScript way with both models and with
 * transformers.js 4.
 */
export type Side = (typeof SIDES)[number];

export const SIDES = ["exact", "fast", "typescript", "q8", "transformers4"] as const;

/** Something for each side that takes part. */
export type BySide<T> = ReadonlyMap<Side, T>;

/** What all sides offer. */
export interface Scorer {
	evaluateValue(trace: ReasoningTrace): Promise<number>;
	_getLocalCache(): {
		readonly size: number;
		add(vector: Float32Array): void;
		clear(): void;
	};
	/** Only where transformers.js is used. */
	importLibrary?(): Promise<unknown>;
	warmup?(): Promise<unknown>;
	status?(): { embedder: { state: string; libraryVersion: string | null } };
}

export function isOurs(side: Side): boolean {
	return side === "exact" || side === "fast";
}

/** The environment of a process that runs a side. */
export function environmentOf(side: Side): NodeJS.ProcessEnv {
	const precision = side === "fast" ? "fast" : "exact";
	return { ...process.env, KNOWLEDGEPULSE_SCORING_PRECISION: precision };
}

/** Imports a side. */
export async function loadScorer(side: Side): Promise<Scorer> {
	if (isOurs(side)) {
		return import("@knowledgepulse/scoring");
	}
	const typescript = await import("./typescript/evaluate-value.js");
	typescript.useModel(side === "q8" ? "q8" : "fp32");
	if (side === "transformers4") {
		const file = require.resolve("@huggingface/transformers", {
			paths: [TRANSFORMERS_4],
		});
		typescript.useLibrary(pathToFileURL(file).href);
	}
	return typescript;
}

/** Fails if what was scored went without the model: that would be fast, and no comparison. */
export function assertModel(scorer: Scorer): void {
	const state = scorer.status?.().embedder.state ?? "ready";
	if (state !== "ready") throw new Error(`the embedder is ${state}`);
}

/** The sides that can be measured here, and a sentence for each that cannot. */
export async function availableSides(): Promise<{
	sides: Side[];
	missing: string[];
}> {
	const reasons: Partial<Record<Side, string>> = {};
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
		const { message } = error as Error;
		reasons.fast = `This build has no fast precision, which is left out (${message}).`;
	}
	return {
		sides: SIDES.filter((side) => reasons[side] === undefined),
		missing: Object.values(reasons),
	};
}

/** The same as a map, with its values changed. */
export function mapValues<T, U>(
	values: BySide<T>,
	change: (value: T, side: Side) => U,
): Map<Side, U> {
	return new Map([...values].map(([side, value]) => [side, change(value, side)]));
}
