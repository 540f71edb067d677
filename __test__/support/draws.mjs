/** Random choices that a seed repeats. */

import { random } from "./traces.mjs";

/** The seed of this run: `KP_SEED`, or a random number. */
export const seed = Number(process.env.KP_SEED ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(seed)) throw new Error("KP_SEED: expected an integer");

/** Returns functions that draw a number below 1, an integer below a bound, an element of a list. */
export function draws(seed) {
	const number = random(seed);
	const below = (bound) => Math.floor(number() * bound);
	return { number, below, of: (list) => list[below(list.length)] };
}

/** Runs `check`, and adds to an error what repeats the run. */
export async function repeatable(what, check) {
	try {
		return await check();
	} catch (error) {
		throw new Error(`KP_SEED=${seed}: ${what}: ${error.message}`, { cause: error });
	}
}
