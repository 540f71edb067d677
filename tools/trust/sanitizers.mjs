/** AddressSanitizer, LeakSanitizer, Valgrind and Miri over the tests in Rust. */
import { host } from "../lib/build.mjs";
import { capture } from "../lib/run.mjs";
import { main } from "./lib/main.mjs";
import { cargoTests, SCORING, targetFolder } from "./lib/rust.mjs";
import { addon } from "./sanitizers/addon.mjs";
import { miri } from "./sanitizers/miri.mjs";

export const title = "Sanitizers";

/** Runs the model by both backends: half of the time that all tests take. */
const LONGEST = "every_bit_is_that_of_onnx_runtime";

/** Valgrind takes thirty times as long, which is too long for arithmetic, and knows no AVX-512. */
const ARITHMETIC = ["kernels::", "backend::native"];

const skip = (names) => names.flatMap((name) => ["--skip", name]);

/** Makes cargo build with AddressSanitizer, and configures that. */
const ADDRESS = {
	// The sanitizers are in the stable compiler, behind a flag.
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address",
	// A test asks for more memory than there is; the allocation has to fail as it would elsewhere.
	ASAN_OPTIONS: "allocator_may_return_null=1:detect_stack_use_after_return=1",
	CARGO_TARGET_DIR: targetFolder("sanitizers"),
};

/** All tests, or the unit tests, with every access to memory checked and every leak reported. */
function address({ short, log }) {
	const what = "AddressSanitizer and LeakSanitizer";
	const some = short ? ["--lib", "--", ...skip([LONGEST])] : ["--tests"];
	const args = ["test", "--workspace", "--target", host(), ...some];
	const tried = `${cargoTests(args, ADDRESS)} tests in Rust`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error, no leak" };
}

/** Some of the tests in Valgrind, where there is one. */
function valgrind({ short, log }) {
	const what = "Valgrind (memcheck)";
	const version = capture("valgrind", ["--version"])?.trim();
	if (!version)
		return {
			what,
			tried: "not available here",
			found: "valgrind is not installed",
		};
	const runner = `CARGO_TARGET_${host().toUpperCase().replaceAll("-", "_")}_RUNNER`;
	const command = [
		...["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full"],
		...["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"],
	];
	const packages = short ? ["-p", SCORING] : ["--workspace"];
	// The binaries of `npm test`: another target would be another build.
	const args = ["test", ...packages, "--lib", "--", ...skip(ARITHMETIC)];
	const count = cargoTests(args, { [runner]: command.join(" ") });
	const tried = `${count} tests in Rust, ${version}`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error, nothing definitely lost" };
}

export async function run(options) {
	return [
		address(options),
		await addon({ ...options, target: host(), env: ADDRESS }),
		valgrind(options),
		miri(options),
	];
}

await main(import.meta.url, { title, run });
