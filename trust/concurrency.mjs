/** Data races: ThreadSanitizer over the tests of what threads share. */
import { main } from "./lib/main.mjs";
import { execute, nightly } from "./lib/rust.mjs";

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

/** How many tests passed, as the output of `cargo test` tells. */
function passed(output) {
	const counts = [...output.matchAll(/^test result: ok\. (\d+) passed/gm)];
	const sum = counts.reduce((total, [, count]) => total + Number(count), 0);
	if (sum === 0) throw new Error(`no test ran\n${output}`);
	return sum;
}

/** Runs the tests of the library that `filters` name, and those of whole files. */
function test(command, { modules, files }, options) {
	const one = (args) =>
		passed(execute("cargo", [...command, ...args], options));
	return (
		one(["--lib", "--", ...modules]) +
		one(files.flatMap((file) => ["--test", file]))
	);
}

function threadSanitizer(log) {
	const env = {
		...nightly("tsan"),
		RUSTFLAGS: "-Zsanitizer=thread",
		TSAN_OPTIONS: "halt_on_error=1",
		// Threads meet in other tests than those.
		PROPTEST_CASES: "16",
	};
	const [, host] = /^host: (.*)$/m.exec(execute("rustc", ["-vV"], { env }));
	// The standard library, too, has to tell what its locks do.
	const command = ["test", "-Zbuild-std", "--target", host];
	let count = 0;
	for (let round = 1; round <= ROUNDS; round++) {
		count += test(command, SHARED, { env });
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
