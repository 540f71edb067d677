/**
 * The engine against an oracle of the whole scorer: benchmark/typescript/oracle.ts, over
 * transformers.js. `--seed N` repeats a run.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { assertEndedWell, run as runChild } from "../__test__/lib/child.mjs";
import { root } from "../scripts/lib/run.mjs";
import { compileBenchmark } from "../scripts/lib/typescript.mjs";
import { main } from "./lib/main.mjs";
import { seedOfRun } from "./lib/seed.mjs";

export const title = "Differential";

/** A process that hangs is a failure; the slowest one needs a tenth of this. */
const KILL_AFTER_MS = 3_600_000;

/** Checks of ./differential/, each in a process of its own; relative to `__test__`. */
async function inProcess(name, input, log, env) {
	const ended = await runChild(
		async ({ scoring, input, send }) => {
			const { check } = await import(input.check);
			const oracle = await import(input.oracle);
			return check({ ...input, scoring, oracle, log: send });
		},
		{
			input: {
				...input,
				check: `../trust/differential/${name}.mjs`,
				oracle: "../benchmark/dist/typescript/oracle.js",
			},
			env,
			killAfterMs: KILL_AFTER_MS,
			onValue: (value) => typeof value === "string" && log(value),
		},
	);
	try {
		assertEndedWell(ended);
	} catch ({ message }) {
		const how = `node trust/differential.mjs --seed ${input.seed}`;
		throw new Error(`${how}${input.short ? " --short" : ""}: ${message}`);
	}
	return ended.value;
}

const number = (count) => count.toLocaleString("en");

function rowOfTraces({ scored, refused, profiled, distinct }) {
	return {
		what: "traces without the embedder, bit for bit with the oracle",
		tried: `${number(scored)}, each through 4 functions, ${number(profiled)} of them with profiles of their own; and ${number(refused)} values that both refuse`,
		found: `no difference in ${number(distinct)} different scores`,
	};
}

function rowsOfScores({ protocol, novelty, refused, greatest }) {
	return [
		{
			what: "traces with the embedder, within 1e-4 of the oracle",
			tried: `${number(protocol)} in order, through a cache of 1,000`,
			found: `${greatest.protocol.toExponential(1)} apart at most`,
		},
		{
			what: "the same by novelty alone, within 2.9e-4: 1e-4 at a weight of 0.35",
			tried: `${number(novelty)} in order, through 4 smaller caches; and with those above ${number(refused)} values that both refuse`,
			found: `${greatest.novelty.toExponential(1)} apart at most`,
		},
	];
}

function rowsOfTokens({ generated, codePoints, lines }) {
	return [
		["tokens of generated texts", generated, ""],
		[
			"tokens around code points, surrogates included",
			codePoints,
			" texts of 20 code points each",
		],
		["tokens of lines of a megabyte", lines, ""],
	].map(([what, count, unit]) => ({
		what: `${what}, against transformers.js`,
		tried: `${number(count)}${unit}`,
		found: "no difference",
	}));
}

/** Holds the engine against the oracle; throws at the first difference. */
export async function run({ short, log }) {
	if (!existsSync(join(root, "benchmark/.model")))
		throw new Error(
			"benchmark/.model is missing: run node scripts/prepare.mjs",
		);
	compileBenchmark(["inherit", process.stderr, "inherit"]);
	const seed = seedOfRun();
	log(`differential: seed ${seed}`);

	const input = { short, seed };
	const plain = await inProcess("traces", input, log, {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "off",
	});
	const embedded = await inProcess("novelty", input, log);
	const tokens = await inProcess("tokens", input, log);
	return [
		rowOfTraces(plain),
		...rowsOfScores(embedded),
		...rowsOfTokens(tokens),
	];
}

await main(import.meta.url, { title, run });
