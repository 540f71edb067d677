/** Random choices that a seed repeats. */
import { random } from "../../../__test__/support/traces.mjs";

/** A source of random choices: a number below 1, an integer below a bound, an element of a list. */
export function draws(seed) {
	const number = random(seed);
	const below = (bound) => Math.floor(number() * bound);
	return { number, below, of: (list) => list[below(list.length)] };
}

/** The seed of this run: the argument after `--seed`, otherwise a random one. */
export function seedOfRun() {
	const at = process.argv.indexOf("--seed");
	if (at < 0) return Math.floor(Math.random() * 2 ** 31);
	const seed = Number(process.argv[at + 1]);
	if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
		throw new Error("--seed: expected an integer from 0 to 2^31 - 1");
	return seed;
}
