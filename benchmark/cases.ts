import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { ReasoningTrace } from "@knowledgepulse/scoring";
import { generateTrace, type Size } from "./generate.js";
import { TRACES_FOLDER } from "./paths.js";

/** The recorded runs, each in a file of its own. */
export const FILES = ["airline", "software"] as const;

const GENERATED: Record<string, Size & { count: number }> = {
	// More words than the window takes: the model sees 512 tokens.
	"512 tokens": { words: 540, steps: 20, count: 100 },
	"128 tokens": { words: 126, steps: 10, count: 200 },
	"20 tokens": { words: 18, steps: 5, count: 500 },
	"20 tokens, full cache": { words: 18, steps: 5, count: 500 },
};

/** The case that is scored before a full cache. */
export const FULL_CACHE_CASE = "20 tokens, full cache";

/** The case that stands in for the recorded runs where these are absent. */
export const FALLBACK_CASE = "512 tokens";

/** The cases that can be measured here, the recorded runs first. */
export function availableCases(): string[] {
	return [...FILES.filter(isThere), ...Object.keys(GENERATED)];
}

function isThere(name: string): boolean {
	return existsSync(path.join(TRACES_FOLDER, `${name}.jsonl`));
}

/** The traces of a case in order; the same in every process. */
export function tracesOf(name: string): ReasoningTrace[] {
	const generated = GENERATED[name];
	if (generated !== undefined) {
		return Array.from({ length: generated.count }, (_, seed) =>
			generateTrace(seed, generated),
		);
	}
	const file = path.join(TRACES_FOLDER, `${name}.jsonl`);
	const lines = readFileSync(file, "utf8").split("\n");
	return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** The scores of the SDK by trace id, or undefined where none are recorded. */
export function goldenScores(name: string): Map<string, number> | undefined {
	const file = path.join(TRACES_FOLDER, "golden", `${name}.json`);
	if (!existsSync(file)) return undefined;
	const entries: { id: string; score: number }[] = JSON.parse(
		readFileSync(file, "utf8"),
	);
	return new Map(entries.map(({ id, score }) => [id, score]));
}
