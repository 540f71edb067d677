/** Cargo, and Rust tools at pinned versions. */
import { join } from "node:path";
import { once } from "../../lib/cache.mjs";
import { attempt, capture, root } from "../../lib/run.mjs";

/** Branch coverage, a standard library with ThreadSanitizer and Miri are in no stable release. */
const NIGHTLY = "nightly-2026-05-20";
const COMPONENTS = ["llvm-tools", "miri", "rust-src"];

const TOOLS = {
	"cargo-fuzz": "0.13.2",
	"cargo-llvm-cov": "0.9.1",
	"cargo-mutants": "27.1.0",
};

/** The crate with the rules of scoring. */
export const SCORING = "knowledgepulse-scoring";

/** The modules of it whose branches and changes the tests have to notice. */
export const RULES = [...["cache", "dimensions", "overrides", "score", "trace", "weights"]];

/** Runs a program in the top folder; returns its output, throws unless it succeeds. */
export function outputOf(command, args, options) {
	const { code, output } = attempt(command, args, options);
	if (code === 0) return output;
	const end = output.split("\n").slice(-60).join("\n");
	throw new Error(`${command} ${args.join(" ")} ended with ${code}\n${end}`);
}

/** Runs tests by `cargo` with more in the environment; returns how many passed, throws if one fails. */
export function cargoTests(args, more = {}) {
	const env = { ...process.env, ...more };
	const { code, output } = attempt("cargo", args, { env });
	const results = [...output.matchAll(/^test result: ok\. (\d+) passed/gm)];
	const count = results.reduce((sum, [, passed]) => sum + Number(passed), 0);
	if (code === 0 && count > 0) return count;
	const changes = Object.entries(more).map(([name, value]) => `${name}="${value}"`);
	throw new Error(
		`${changes.join(" ")} cargo ${args.join(" ")}: ${code}, ${count} tests passed\n${output.slice(-8_000)}`,
	);
}

/** More for the environment: `cargo` is that of the pinned nightly, and builds into `target/<folder>`. */
export function nightly(folder) {
	const installed = capture("rustup", [
		...["component", "list", "--installed", "--toolchain", NIGHTLY],
	]);
	if (!COMPONENTS.every((component) => installed?.includes(component)))
		outputOf("rustup", [
			...["toolchain", "install", NIGHTLY, "--profile", "minimal"],
			...["--component", COMPONENTS.join(",")],
		]);
	return {
		RUSTUP_TOOLCHAIN: NIGHTLY,
		CARGO_TARGET_DIR: targetFolder(folder),
	};
}

/** A folder of build results that no other command uses. */
export function targetFolder(name) {
	return join(root, "target", name);
}

/** The path of a tool, which is built when it is asked for the first time. */
export function tool(name) {
	const version = TOOLS[name];
	const folder = once(`${name}-${version}-${process.arch}`, (target) =>
		outputOf("cargo", [
			...["install", "--quiet", "--locked", "--no-track"],
			...["--root", target, name, "--version", version],
		]),
	);
	return join(folder, "bin", name);
}
