/** Cargo, its tools at pinned versions, and the tests of the public API with another addon. */
import { join } from "node:path";
import { installAddon } from "../lib/build.mjs";
import { once } from "../lib/cache.mjs";
import { attempt, capture, filesBelow, root, run } from "../lib/run.mjs";

/** Branch coverage, ThreadSanitizer in the standard library, and Miri need a nightly compiler. */
const NIGHTLY = "nightly-2026-05-20";
const COMPONENTS = ["llvm-tools", "miri", "rust-src"];

const TOOLS = { "cargo-fuzz": "0.13.2", "cargo-llvm-cov": "0.9.1", "cargo-mutants": "27.1.0" };

/** The crate with the rules of scoring. */
export const SCORING = "knowledgepulse-scoring";

/** The modules of that crate whose branches and mutants the tests must cover. */
export const RULES = ["cache", "score", "trace", "weights"];

/** Runs a program in the top folder and returns its output; throws unless it succeeds. */
export function outputOf(command, args, more = {}) {
	const { code, output } = attempt(command, args, { env: { ...process.env, ...more } });
	if (code === 0) return output;
	const variables = Object.entries(more).map(([name, value]) => `${name}="${value}"`);
	const line = [...variables, command, ...args].join(" ");
	throw new Error(`${line}: ended with ${code}\n${output.slice(-8_000)}`);
}

/** Runs tests by `cargo`, with more in the environment; throws if one fails or none ran. */
export function cargoTests(args, more) {
	const output = outputOf("cargo", args, more);
	const results = [...output.matchAll(/^test result: ok\. (\d+) passed/gm)];
	const count = results.reduce((sum, [, passed]) => sum + Number(passed), 0);
	if (count === 0) throw new Error(`cargo ${args.join(" ")}: no test ran\n${output}`);
	console.log(`cargo ${args.join(" ")}: ${count} tests passed`);
}

/** The environment for `cargo` of the pinned nightly, with builds in `target/<folder>`. */
export function nightly(folder) {
	const list = ["component", "list", "--installed", "--toolchain", NIGHTLY];
	const installed = capture("rustup", list);
	if (!COMPONENTS.every((component) => installed?.includes(component))) {
		const options = ["--profile", "minimal", "--component", COMPONENTS.join(",")];
		outputOf("rustup", ["toolchain", "install", NIGHTLY, ...options]);
	}
	return { RUSTUP_TOOLCHAIN: NIGHTLY, CARGO_TARGET_DIR: targetFolder(folder) };
}

/** A separate folder of build results. */
export const targetFolder = (name) => join(root, "target", name);

/** The path of a tool, which is built the first time. */
export function tool(name) {
	const version = TOOLS[name];
	const folder = once(`${name}-${version}-${process.arch}`, (target) => {
		const options = ["--quiet", "--locked", "--no-track", "--root", target];
		outputOf("cargo", ["install", ...options, name, "--version", version]);
	});
	return join(folder, "bin", name);
}

/**
 * Runs the test files whose name `leaveOut` does not match, with `library` as the addon. Throws if no test
 * passes; failed tests are printed, because those that limit time, memory or files may fail with an
 * instrumented addon.
 */
export function testPublicApi(library, { leaveOut, env }) {
	const files = filesBelow("__test__", ".test.mjs").filter((file) => !leaveOut.test(file));
	installAddon(library);
	try {
		const options = ["--test", "--test-concurrency=1", "--test-reporter=tap"];
		const { output } = attempt(process.execPath, [...options, ...files], {
			env: { ...process.env, ...env },
		});
		for (const [, test] of output.matchAll(/^ *not ok \d+ - (.*)$/gm))
			console.log(`fails with this addon: ${test}`);
		const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
		if (passed === 0) throw new Error(`no test has passed\n${output}`);
		console.log(`${passed} tests of the public API passed`);
	} finally {
		// The addon of the checkout.
		run(process.execPath, ["tools/prepare.mjs"]);
	}
}
