/**
 * The engine compared with an oracle of the whole scorer: benchmark/typescript/oracle.ts, over
 * transformers.js. `--seed N` repeats a run.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { assertEndedWell } from "../../__test__/support/child.mjs";
import { root } from "../lib/run.mjs";
import { compileBenchmark } from "../lib/typescript.mjs";
import { callIn } from "./lib/child.mjs";
import { seedOfRun } from "./lib/draw.mjs";
import { finding } from "./lib/finding.mjs";
import { main } from "./lib/main.mjs";

export const title = "Differential";

/** A process that takes this long hangs; the slowest one needs a tenth of it. */
const KILL_AFTER_MS = 3_600_000;

/** Runs a check of ./differential/ in a process of its own. */
async function check(name, input, log, env) {
	const ended = await callIn(`differential/${name}.mjs`, "check", {
		input,
		env,
		killAfterMs: KILL_AFTER_MS,
		onValue: (value) => typeof value === "string" && log(value),
	});
	try {
		assertEndedWell(ended);
	} catch (error) {
		const how = `node tools/trust/differential.mjs --seed ${input.seed}`;
		throw finding(error, input.short ? `${how} --short` : how);
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
		["tokens around code points, surrogates included", codePoints, " texts of 20 code points each"],
		["tokens of lines of a megabyte", lines, ""],
	].map(([what, count, unit]) => ({
		what: `${what}, against transformers.js`,
		tried: `${number(count)}${unit}`,
		found: "no difference",
	}));
}

/** Throws at the first difference. */
export async function run({ short, log }) {
	if (!existsSync(join(root, "benchmark/.model")))
		throw new Error("benchmark/.model is missing: run node tools/prepare.mjs");
	compileBenchmark(["inherit", process.stderr, "inherit"]);
	const seed = seedOfRun();
	log(`differential: seed ${seed}`);

	const input = { short, seed };
	const plain = await check("traces", input, log, {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "off",
	});
	const embedded = await check("novelty", input, log);
	const tokens = await check("tokens", input, log);
	return [rowOfTraces(plain), ...rowsOfScores(embedded), ...rowsOfTokens(tokens)];
}

await main(import.meta.url, { title, run });
