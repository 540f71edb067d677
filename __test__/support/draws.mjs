/** Random choices by a seed, and the factor of repetitions. */

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

/** Runs `check`, and adds the seed to an error. */
export async function repeatable(what, check) {
	try {
		return await check();
	} catch (error) {
		throw new Error(`KP_SEED=${seed}: ${what}: ${error.message}`, { cause: error });
	}
}

/** The factor of repetitions: `KP_TRUST`, or 1. */
const factor = Number(process.env.KP_TRUST || 1);
if (!(factor >= 1)) throw new Error(`KP_TRUST: expected a number from 1 on, got ${factor}`);

/** Returns `count`, or a multiple of it in a long run. */
export const repeats = (count) => Math.ceil(count * factor);

/** Whether the factor is above 1, so that slow tests run too. */
export const isLongRun = factor > 1;
