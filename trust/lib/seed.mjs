/** The seed of a run: `--seed N` repeats one. */
import { anySeed } from "./draw.mjs";

/** What follows `--seed` among the arguments, else a seed that nobody has chosen. */
export function seedOfRun() {
	const at = process.argv.indexOf("--seed");
	if (at < 0) return anySeed();
	const seed = Number(process.argv[at + 1]);
	if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
		throw new Error("--seed: expected an integer from 0 to 2^31 - 1");
	return seed;
}
