/**
 * What threads share: calls, batches and the end of a scorer in orders that are drawn, and ThreadSanitizer
 * over the tests.
 */
import { host } from "../lib/build.mjs";
import { main } from "./lib/main.mjs";
import { cargoTests, nightly, SCORING } from "./lib/rust.mjs";

export const title = "Concurrency";

/** Threads meet in orders that a test draws: 2,000 of each test, times `KP_TRUST`. */
const SCHEDULES = ["test", "-p", SCORING, "--features", "shuttle", "--test", "schedules"];
const TIMES = { short: 1, full: 50 };

/** The tests of what threads share: the order of calls, the cache, the threads, the loaded models. */
const SHARED = [
	["-p", SCORING, "--lib", "--test", "order", "--test", "races"],
	["-p", "knowledgepulse-workers", "--lib"],
	["-p", "knowledgepulse-embedder", "--lib", "--", "memo::", "shared::"],
];

/** How often each test runs: every time, threads meet at other points. */
const ROUNDS = 5;

function schedules(times, log) {
	const count = cargoTests(SCHEDULES, { KP_TRUST: String(times) });
	log("concurrency: orders of threads");
	return {
		what: "lost calls and deadlocks in the order of calls, its batches and the end",
		tried: `${count} tests in ${2_000 * times} orders each`,
		found: "none",
	};
}

export async function run({ short, log }) {
	const drawn = schedules(short ? TIMES.short : TIMES.full, log);
	if (short) return [drawn];
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
		drawn,
		{
			what: "data races in queue, cache, threads and models, by ThreadSanitizer",
			tried: `${count} tests in ${ROUNDS} rounds`,
			found: "none",
		},
	];
}

await main(import.meta.url, { title, run });
