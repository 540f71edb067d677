/** Miri: an interpreter of Rust that knows what is undefined behaviour, over what needs no library in C. */
import { cargoTests, nightly } from "../lib/rust.mjs";

/** What can be interpreted: no ONNX Runtime, and no pool of threads, whose queues break its rules. */
const MODULES = [
	...["cache::", "scorer::", "snapshot::", "suggest::", "weights::tests"],
	...["embedder::chars", "embedder::encoder::team", "embedder::memo::"],
	...["embedder::registry", "embedder::windows"],
];
const FILES = ["score", "trace"];

/** Interpreted, each of these would take from ten minutes to hours. */
const LONG = [
	...["any_flipped_bit", "as_long_as_a_book", "every_fate", "every_kernel"],
	...["first_of_equal", "least_recently", "little_is_mixed"],
];

/** A few of them, for the short mode. */
const FEW = ["scorer::", "weights::tests"];

const ENV = {
	// Snapshots are written into files. Threads that wait for work are there at the end.
	MIRIFLAGS: "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
	PROPTEST_CASES: "2",
};

/** Interprets the tests that `args` choose; gives how many there were. */
const interpret = (args) =>
	cargoTests(["miri", "test", ...args], { ...nightly("miri"), ...ENV });

/** The tests of the safe core. */
export function miri({ short, log }) {
	const what = "Miri";
	const skip = LONG.flatMap((name) => ["--skip", name]);
	const modules = short ? FEW : MODULES;
	let count = interpret(["--lib", "--", ...modules, ...skip]);
	if (!short) count += interpret(FILES.flatMap((name) => ["--test", name]));
	const tried = `${count} tests of the Rust core`;
	log(`${what}: ${tried}: no undefined behaviour`);
	return { what, tried, found: "no undefined behaviour" };
}
