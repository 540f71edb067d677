/**
 * Crashes, hangs and lost promises, however processes, workers and scorers begin and end. `--seed N`
 * repeats a run.
 */
import { seedOfRun } from "./lib/draw.mjs";
import { main } from "./lib/main.mjs";
import { aloneExits } from "./lifecycle/alone-exits.mjs";
import { fiftyAtOnce, twoCopies } from "./lifecycle/contexts.mjs";
import { exits } from "./lifecycle/exits.mjs";
import { panics } from "./lifecycle/panics.mjs";
import { promises } from "./lifecycle/promises.mjs";
import { terminations } from "./lifecycle/terminations.mjs";

export const title = "Lifecycle";

/** Each check with how often it runs: in full, and in short. */
const CHECKS = [
	[exits, 100, 3],
	[terminations, 1000, 24],
	[aloneExits, 100, 8],
	[twoCopies, 60, 3],
	[fiftyAtOnce, 10, 1],
	[promises, 500, 10],
	[panics, 80, 11],
];

export async function run({ short, log }) {
	const seed = seedOfRun();
	log(`lifecycle: seed ${seed}`);
	const rows = [];
	for (const [check, inFull, inShort] of CHECKS) {
		const times = short ? inShort : inFull;
		rows.push(...(await check({ times, seed, log })));
	}
	return rows;
}

await main(import.meta.url, { title, run });
