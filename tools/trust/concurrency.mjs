/** Data races: ThreadSanitizer over the tests of what threads share. */
import { host } from "../lib/build.mjs";
import { main } from "./lib/main.mjs";
import { cargoTests, nightly, SCORING } from "./lib/rust.mjs";

export const title = "Data races";

/** The tests of what threads share: the order of calls, the cache, the threads, the loaded models. */
const SHARED = [
	["-p", SCORING, "--lib", "--test", "order", "--test", "races"],
	["-p", "knowledgepulse-tasks", "--lib"],
	["-p", "knowledgepulse-embedder", "--lib", "--", "memo::", "shared::"],
];

/** How often each test runs: every time, threads meet at other points. */
const ROUNDS = 5;

export async function run({ log }) {
	const env = {
		...nightly("tsan"),
		RUSTFLAGS: "-Zsanitizer=thread",
		TSAN_OPTIONS: "halt_on_error=1",
		// Threads meet in other tests than those.
		PROPTEST_CASES: "16",
	};
	// The standard library needs instrumentation, too, for its locks to be recognised.
	const command = ["test", "-Zbuild-std", "--target", host()];
	let count = 0;
	for (let round = 1; round <= ROUNDS; round++) {
		for (const tests of SHARED) count += cargoTests([...command, ...tests], env);
		log(`concurrency: ThreadSanitizer, round ${round} of ${ROUNDS}`);
	}
	return [
		{
			what: "data races in queue, cache, threads and models, by ThreadSanitizer",
			tried: `${count} tests in ${ROUNDS} rounds`,
			found: "none",
		},
	];
}

await main(import.meta.url, { title, run });
