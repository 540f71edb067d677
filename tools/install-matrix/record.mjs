/**
 * Records the scores that the matrix compares with: node tools/install-matrix/record.mjs, in a
 * checkout that is built.
 *
 * They are those of this checkout's addon in a fresh process, and are written only if the
 * TypeScript implementation of the benchmark, over transformers.js with the plain float32 model,
 * agrees up to rounding.
 */
import { readFileSync, writeFileSync } from "node:fs";

/** Tolerance of the tests. */
const TOLERANCE = 1e-6;
/** Tolerance of transformers.js, which rounds differently and has weights of more bits. */
const ORACLE_TOLERANCE = 2e-5;

const traces = JSON.parse(readFileSync(new URL("fixtures/traces.json", import.meta.url), "utf8"));

async function scoresOf({ evaluateValue }) {
	const scores = [];
	for (const trace of traces) scores.push(await evaluateValue(trace));
	return scores;
}

const addon = await import("../../lib/entries/index.mjs");
const scores = await scoresOf(addon);
if (addon.status().embedder.state !== "ready") throw new Error(addon.status().embedder.reason);
const oracle = await scoresOf(await import("../../__test__/oracle/evaluate-value.mjs"));
const difference = Math.max(...scores.map((score, i) => Math.abs(score - oracle[i])));
if (difference > ORACLE_TOLERANCE)
	throw new Error(`transformers.js says ${oracle}, the addon ${scores}`);
const record = {
	from: "the addon, precision exact; record.mjs compares it with evaluateValue in TypeScript over transformers.js",
	scores,
	transformers: oracle,
	greatestDifference: difference,
	tolerance: TOLERANCE,
};
writeFileSync(
	new URL("fixtures/expected.json", import.meta.url),
	`${JSON.stringify(record, null, "\t")}\n`,
);
console.log(record);
