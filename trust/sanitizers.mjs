/** AddressSanitizer, LeakSanitizer, Valgrind and Miri over the tests of the Rust core. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { capture, root } from "../scripts/lib/run.mjs";
import { main } from "./lib/main.mjs";
import { addon } from "./sanitizers/addon.mjs";
import { miri } from "./sanitizers/miri.mjs";

export const title = "Sanitizers";

/** Runs the model in ONNX Runtime and in Rust: half of the time that all tests take. */
const LONGEST = "every_bit_is_that_of_onnx_runtime";

/** Valgrind takes thirty times as long, which is too long for arithmetic, and knows no AVX-512. */
const ARITHMETIC = ["embedder::kernels", "embedder::encoder::tests"];
const FEW = ["embedder::encoder::team", "embedder::memo", "scorer::"];

const skip = (names) => names.flatMap((name) => ["--skip", name]);

/** Both names and places, in the words that cargo and the sanitizers have for this system. */
const target = () => /^host: (.*)$/m.exec(capture("rustc", ["-vV"]))[1];

/** What makes cargo build with AddressSanitizer, and how that is to work. */
const ADDRESS = {
	// The sanitizers are in the stable compiler, behind a flag.
	RUSTC_BOOTSTRAP: "1",
	RUSTFLAGS: "-Zsanitizer=address",
	// A test asks for more memory than there is, and has to be refused it as it would be elsewhere.
	ASAN_OPTIONS: "allocator_may_return_null=1:detect_stack_use_after_return=1",
	CARGO_TARGET_DIR: join(root, "target", "sanitizers"),
};

/** Runs `cargo` and gives what it printed; anything but success is a finding. */
async function cargo(args, env) {
	const child = spawn("cargo", args, {
		cwd: root,
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text) => {
			output += text;
		});
	const [code] = await new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (...ending) => resolve(ending));
	});
	if (code !== 0) {
		const told = Object.entries(env).map(
			([name, value]) => `${name}="${value}"`,
		);
		throw new Error(
			`${told.join(" ")} cargo ${args.join(" ")} failed:\n${output.slice(-8_000)}`,
		);
	}
	return output;
}

/** How many tests have passed. */
function passed(output) {
	const results = [...output.matchAll(/test result: ok\. (\d+) passed/g)];
	const count = results.reduce((sum, [, number]) => sum + Number(number), 0);
	if (count === 0) throw new Error(`no test has run:\n${output.slice(-2_000)}`);
	return count;
}

/** All tests, or those of the library, with every access to memory checked and every leak told. */
async function address({ short, log }) {
	const what = "AddressSanitizer and LeakSanitizer";
	const some = short ? ["--lib", "--", ...skip([LONGEST])] : ["--tests"];
	const args = ["test", "--target", target(), ...some];
	const output = await cargo(args, ADDRESS);
	const tried = `${passed(output)} tests of the Rust core`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error, no leak" };
}

/** Some of the tests in Valgrind, where there is one. */
async function valgrind({ short, log }) {
	const what = "Valgrind (memcheck)";
	const version = capture("valgrind", ["--version"])?.trim();
	if (!version)
		return {
			what,
			tried: "not available here",
			found: "valgrind is not installed",
		};
	const runner = `CARGO_TARGET_${target().toUpperCase().replaceAll("-", "_")}_RUNNER`;
	const command = [
		...["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full"],
		...["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"],
	];
	const some = short ? FEW : skip(ARITHMETIC);
	// The binary of `npm test`: another target would be another build.
	const args = ["test", "--lib", "--", ...some];
	const output = await cargo(args, { [runner]: command.join(" ") });
	const tried = `${passed(output)} tests of the Rust core, ${version}`;
	log(`${what}: ${tried}: no error`);
	return { what, tried, found: "no error, nothing definitely lost" };
}

export async function run(options) {
	return [
		await address(options),
		addon({ ...options, target: target(), env: ADDRESS }),
		await valgrind(options),
		miri(options),
	];
}

await main(import.meta.url, { title, run });
