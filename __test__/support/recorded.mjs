/** Recorded runs, with the scores that the TypeScript SDK gives them; not part of the repository. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

export const folder = new URL("../../../shared/traces/", import.meta.url);

/** The files with runs; empty where there are none. */
export const files = existsSync(folder)
	? readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
	: [];

/** The first runs of a file, as {@link read} gives all of them. */
export function firstOf(file, count) {
	const { traces, golden } = read(file);
	return { traces: traces.slice(0, count), golden: golden.slice(0, count) };
}

/** The runs of a file, and their `id` and `score` in its golden file. */
export function read(file) {
	const lines = readFileSync(new URL(file, folder), "utf8").trim().split("\n");
	const goldenFile = new URL(`golden/${basename(file, ".jsonl")}.json`, folder);
	return {
		traces: lines.map((line) => JSON.parse(line)),
		golden: JSON.parse(readFileSync(goldenFile, "utf8")),
	};
}
