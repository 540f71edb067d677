import { readFileSync } from "node:fs";

const lines = readFileSync(new URL("traces.jsonl", import.meta.url), "utf8")
	.trim()
	.split("\n");

/** A dozen made-up agent runs. */
export const traces = lines.map((line) => JSON.parse(line));
