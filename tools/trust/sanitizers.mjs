/** The Rust tests under sanitizers, Valgrind and Miri; the public API under AddressSanitizer. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cargo, host } from "../lib/build.mjs";
import { capture } from "../lib/run.mjs";
import { cargoTests, nightly, outputOf, SCORING, targetFolder, testPublicApi } from "./rust.mjs";

const ADDRESS = {
	// The sanitizers are in the stable compiler, behind a flag.
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address",
	// One test requests more memory than there is; the allocation must fail as without a sanitizer.
	ASAN_OPTIONS: "allocator_may_return_null=1:detect_stack_use_after_return=1",
	CARGO_TARGET_DIR: targetFolder("sanitizers"),
};

/**
 * Makes the runtime of the sanitizer a library that can be preloaded, since Node.js itself is built without
 * it. The compiler comes with an archive only, made for programs.
 */
function runtimeLibrary(folder) {
	const sysroot = outputOf("rustc", ["--print", "sysroot"]).trim();
	const libraries = join(sysroot, "lib/rustlib", host(), "lib");
	const name = readdirSync(libraries).find((name) => /_rt\.asan\.a$/.test(name));
	if (!name) throw new Error(`no AddressSanitizer in ${libraries}`);
	const archive = join(folder, "runtime.a");
	copyFileSync(join(libraries, name), archive);
	// A library cannot run code before `main`; loading initialises it.
	outputOf("ar", ["d", archive, "asan_preinit.cpp.o"]);
	// The sanitizer refuses to load beside a library called libasan.
	const library = join(folder, "sanitizer.so");
	const whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"];
	const needed = ["-ldl", "-lpthread", "-lm", "-lrt"];
	outputOf("cc", ["-shared", "-o", library, ...whole, ...needed]);
	return library;
}

/** Checks every memory access, and reports leaks, except in Node.js, which frees little. */
export async function address() {
	cargoTests(["test", "--workspace", "--target", host(), "--tests"], ADDRESS);

	const folder = targetFolder("sanitizers-node");
	const logs = join(folder, "logs");
	rmSync(logs, { recursive: true, force: true });
	mkdirSync(logs, { recursive: true });
	const build = ["build", "--lib", "--profile", "test", "--target", host()];
	testPublicApi(await cargo("addon with AddressSanitizer", build, { ...process.env, ...ADDRESS }), {
		// Cargo does not start beside a preloaded sanitizer.
		leaveOut: /tokens/,
		env: {
			LD_PRELOAD: runtimeLibrary(folder),
			// Reports of all processes go into files.
			ASAN_OPTIONS: `${ADDRESS.ASAN_OPTIONS}:detect_leaks=0:log_path=${join(logs, "report")}`,
		},
	});
	for (const report of readdirSync(logs)) throw new Error(readFileSync(join(logs, report), "utf8"));
}

/** The tests of what threads share: the order of calls, the cache, the threads, the loaded models. */
const SHARED = [
	["-p", SCORING, "--lib", "--test", "scorer"],
	["-p", "knowledgepulse-workers", "--lib"],
	["-p", "knowledgepulse-embedder", "--lib", "--", "memo::", "shared_model::"],
];

/** In every round, threads interact at other points. */
const ROUNDS = 5;

export function threads() {
	const env = {
		...nightly("tsan"),
		RUSTFLAGS: "-Zsanitizer=thread",
		TSAN_OPTIONS: "halt_on_error=1",
		// Other tests have the interactions of threads.
		PROPTEST_CASES: "16",
	};
	// The standard library needs instrumentation too, so that its locks are recognised.
	const command = ["test", "-Zbuild-std", "--target", host()];
	for (let round = 0; round < ROUNDS; round++)
		for (const tests of SHARED) cargoTests([...command, ...tests], env);
}

/** Valgrind takes thirty times as long, which is too long for arithmetic, and knows no AVX-512. */
const ARITHMETIC = ["--skip", "kernels::", "--skip", "backend::native"];

export function valgrind() {
	if (!capture("valgrind", ["--version"])) throw new Error("valgrind is missing: install it");
	const runner = `CARGO_TARGET_${host().toUpperCase().replaceAll("-", "_")}_RUNNER`;
	const options = "--errors-for-leak-kinds=definite --show-leak-kinds=definite";
	const command = `valgrind --quiet --error-exitcode=99 --leak-check=full ${options}`;
	// The binaries of `npm test`: another target would be another build.
	cargoTests(["test", "--workspace", "--lib", "--", ...ARITHMETIC], { [runner]: command });
}

/** Interpreted, each of these would take from ten minutes to hours. */
const LONG = ["any_flipped_bit", "every_kernel", "first_of_equal", "least_recently"].flatMap(
	(name) => ["--skip", name],
);

/** The modules of the embedder that need neither a model nor a pool of threads. */
const EMBEDDER = ["memo::", "pooling::", "shared_model::", "text::char_roles"];

export function miri() {
	const env = {
		...nightly("miri"),
		// Snapshots are written into files. Threads that wait for work are there at the end.
		MIRIFLAGS: "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
		PROPTEST_CASES: "2",
	};
	const miri = (...args) => cargoTests(["miri", "test", ...args], env);
	miri("-p", SCORING, "--lib", "--test", "score", "--", ...LONG);
	miri("-p", "knowledgepulse-embedder", "--lib", "--", ...EMBEDDER, ...LONG);
}
