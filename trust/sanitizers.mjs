/** AddressSanitizer, LeakSanitizer, Valgrind and Miri over the tests of the Rust core. */
import { join } from "node:path";
import { capture, root } from "../scripts/lib/run.mjs";
import { main } from "./lib/main.mjs";
import { cargoTests, host } from "./lib/rust.mjs";
import { addon } from "./sanitizers/addon.mjs";
import { miri } from "./sanitizers/miri.mjs";

export const title = "Sanitizers";

/** Runs the model in ONNX Runtime and in Rust: half of the time that all tests take. */
const LONGEST = "every_bit_is_that_of_onnx_runtime";

/** Valgrind takes thirty times as long, which is too long for arithmetic, and knows no AVX-512. */
const ARITHMETIC = ["embedder::kernels", "embedder::encoder::tests"];
const FEW = ["embedder::encoder::team", "embedder::memo", "scorer::"];

const skip = (names) => names.flatMap((name) => ["--skip", name]);

/** What makes cargo build with AddressSanitizer, and how that is to work. */
const ADDRESS = {
	// The sanitizers are in the stable compiler, behind a flag.
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address",
	// A test asks for more memory than there is, and has to be refused it as it would be elsewhere.
	ASAN_OPTIONS: "allocator_may_return_null=1:detect_stack_use_after_return=1",
	CARGO_TARGET_DIR: join(root, "target", "sanitizers"),
};

/** All tests, or those of the library, with every access to memory checked and every leak told. */
function address({ short, log }) {
	const what = "AddressSanitizer and LeakSanitizer";
	const some = short ? ["--lib", "--", ...skip([LONGEST])] : ["--tests"];
	const args = ["test", "--target", host(), ...some];
	const tried = `${cargoTests(args, ADDRESS)} tests of the Rust core`;
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
	const some = short ? FEW : skip(ARITHMETIC);
	// The binary of `npm test`: another target would be another build.
	const args = ["test", "--lib", "--", ...some];
	const count = cargoTests(args, { [runner]: command.join(" ") });
	const tried = `${count} tests of the Rust core, ${version}`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error, nothing definitely lost" };
}

export async function run(options) {
	return [
		address(options),
		addon({ ...options, target: host(), env: ADDRESS }),
		valgrind(options),
		miri(options),
	];
}

await main(import.meta.url, { title, run });
