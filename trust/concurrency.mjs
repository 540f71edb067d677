/** Data races: ThreadSanitizer over the tests of what threads share. */
import { main } from "./lib/main.mjs";
import { cargoTests, host, nightly } from "./lib/rust.mjs";

export const title = "Data races";

/** What threads share: the queue, the cache, the deadlines, the models of the process. */
const SHARED = {
	modules: [
		...["scorer::", "cache::", "snapshot::", "embedder::memo"],
		...["embedder::registry", "embedder::encoder::team"],
	],
	files: ["early", "order", "races"],
};

/** How often ThreadSanitizer watches the tests: each time threads meet in another way. */
const ROUNDS = 5;

/** Runs the tests of the library that `filters` name, and those of whole files. */
function test(command, { modules, files }, more) {
	const one = (args) => cargoTests([...command, ...args], more);
	return (
		one(["--lib", "--", ...modules]) +
		one(files.flatMap((file) => ["--test", file]))
	);
}

function threadSanitizer(log) {
	const more = {
		...nightly("tsan"),
		RUSTFLAGS: "-Zsanitizer=thread",
		TSAN_OPTIONS: "halt_on_error=1",
		// Threads meet in other tests than those.
		PROPTEST_CASES: "16",
	};
	// The standard library, too, has to tell what its locks do.
	const command = ["test", "-Zbuild-std", "--target", host()];
	let count = 0;
	for (let round = 1; round <= ROUNDS; round++) {
		count += test(command, SHARED, more);
		log(`concurrency: ThreadSanitizer, round ${round} of ${ROUNDS}`);
	}
	return {
		what: "data races in queue, cache, deadlines and models, by ThreadSanitizer",
		tried: `${count} tests in ${ROUNDS} rounds`,
		found: "none",
	};
}

export async function run({ log }) {
	return [threadSanitizer(log)];
}

await main(import.meta.url, { title, run });
