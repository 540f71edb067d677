/** Runs in files, with the scores that the oracle gives them. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** The runs that were written for the tests, scored by `__test__/oracle`. */
export const written = new URL("../data/traces/", import.meta.url);

/** Beside the repository there may be recorded runs, scored by the TypeScript SDK. */
const beside = new URL("../../../shared/traces/", import.meta.url);

/** Files with runs, by their names. */
const FOLDERS = new Map(
	[written, beside]
		.filter(existsSync)
		.flatMap((folder) => readdirSync(folder).map((name) => [name, folder]))
		.filter(([name]) => name.endsWith(".jsonl")),
);

/** The names of the files. */
export const files = [...FOLDERS.keys()];

/** Whether a file was written for the tests. */
export const isWritten = (file) => FOLDERS.get(file) === written;

/** The names of the files with recorded runs. */
export const recorded = files.filter((file) => !isWritten(file));

/** The first runs of a file, as {@link read} gives all of them. */
export function firstOf(file, count) {
	const { traces, golden } = read(file);
	return { traces: traces.slice(0, count), golden: golden.slice(0, count) };
}

/** The golden file of a file with runs. */
export const goldenOf = (file) =>
	new URL(`golden/${basename(file, ".jsonl")}.json`, FOLDERS.get(file));

const valuesIn = (url) => readFileSync(url, "utf8").trim().split("\n").map(JSON.parse);

/** The runs of a file. */
export const tracesOf = (file) => valuesIn(new URL(file, FOLDERS.get(file)));

/** Rows with labels, of which the calibration is compared with that of scikit-learn. */
export const calibrationRows = valuesIn(
	new URL("../../crates/calibrate/tests/reference/rows.jsonl", import.meta.url),
);

/** The runs of a file, and their `id` and `score` in its golden file. */
export const read = (file) => ({
	traces: tracesOf(file),
	golden: JSON.parse(readFileSync(goldenOf(file), "utf8")),
});
