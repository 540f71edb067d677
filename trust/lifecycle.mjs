/** Nothing crashes, hangs, or loses a promise, however processes, workers and scorers begin and end. */

import { anySeed } from "./lib/draw.mjs";
import { main } from "./lib/main.mjs";
import { aloneExits } from "./lifecycle/alone-exits.mjs";
import { fiftyAtOnce, twoCopies } from "./lifecycle/contexts.mjs";
import { exits } from "./lifecycle/exits.mjs";
import { panics } from "./lifecycle/panics.mjs";
import { promises } from "./lifecycle/promises.mjs";
import { terminations } from "./lifecycle/terminations.mjs";

export const title = "Lifecycle";

/** What is tried, how often: in full, and in short. */
const PARTS = [
	[exits, 100, 4],
	[terminations, 1000, 36],
	[aloneExits, 100, 8],
	[twoCopies, 60, 3],
	[fiftyAtOnce, 10, 1],
	[promises, 500, 10],
	[panics, 88, 12],
];

export async function run({ short, log }) {
	const seed = anySeed();
	log(`lifecycle: seed ${seed}`);
	const rows = [];
	for (const [part, inFull, inShort] of PARTS) {
		const times = short ? inShort : inFull;
		rows.push(...(await part({ times, seed, log })));
	}
	return rows;
}

await main(import.meta.url, { title, run });
