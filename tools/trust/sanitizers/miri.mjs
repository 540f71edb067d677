/** Miri: an interpreter of Rust that detects undefined behaviour, over what needs no library in C. */
import { cargoTests, nightly, SCORING } from "../lib/rust.mjs";

/** The modules of the embedder that need neither a model nor a pool of threads. */
const EMBEDDER = ["memo::", "pooling::", "shared::", "text::chars"];

/** Interpreted, each of these would take from ten minutes to hours. */
const LONG = [
	...["any_flipped_bit", "every_fate", "every_kernel", "first_of_equal"],
	...["least_recently", "little_is_mixed"],
];
const SKIP = LONG.flatMap((name) => ["--skip", name]);

const ENV = {
	// Snapshots are written into files. Threads that wait for work are there at the end.
	MIRIFLAGS: "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
	PROPTEST_CASES: "2",
};

/** The tests of the scoring crate, and what can be interpreted of the embedder. */
const TESTS = [
	["-p", SCORING, "--lib", "--test", "score", "--test", "trace", "--", ...SKIP],
	["-p", "knowledgepulse-embedder", "--lib", "--", ...EMBEDDER, ...SKIP],
];

/** A few of them, for the short mode. */
const FEW = [["-p", SCORING, "--lib", "--", "scorer::", "weights::"]];

export function miri({ short, log }) {
	const what = "Miri";
	const env = { ...nightly("miri"), ...ENV };
	let count = 0;
	for (const tests of short ? FEW : TESTS) count += cargoTests(["miri", "test", ...tests], env);
	const tried = `${count} tests in Rust`;
	log(`${what}: ${tried}: no undefined behaviour`);
	return { what, tried, found: "no undefined behaviour" };
}
