/** Random choices that a seed repeats. */
import { random } from "../../__test__/lib/traces.mjs";

/** A source of random choices: a number below 1, an integer below a bound, one of a list. */
export function draws(seed) {
	const number = random(seed);
	const below = (bound) => Math.floor(number() * bound);
	return { number, below, of: (list) => list[below(list.length)] };
}

/** A seed that nobody has chosen. */
export function anySeed() {
	return Math.floor(Math.random() * 2 ** 31);
}
