/** Rust tools that neither npm nor the stable toolchain brings, at pinned versions. */
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { capture, root } from "../../scripts/lib/run.mjs";

/** Coverage of branches, a standard library with ThreadSanitizer and Miri are in no stable release. */
const NIGHTLY = "nightly-2026-05-20";
const COMPONENTS = ["llvm-tools", "miri", "rust-src"];

const TOOLS = { "cargo-llvm-cov": "0.9.1", "cargo-mutants": "27.1.0" };

/** Runs a program in the top folder; gives what it printed and its exit code. */
export function attempt(command, args, options = {}) {
	const { error, status, signal, stdout, stderr } = spawnSync(command, args, {
		cwd: root,
		encoding: "utf8",
		maxBuffer: 1 << 28,
		...options,
	});
	if (error) throw error;
	return { code: status ?? signal, output: `${stdout ?? ""}${stderr ?? ""}` };
}

/** As {@link attempt}, for a program that has to end well; gives what it printed. */
export function execute(command, args, options) {
	const { code, output } = attempt(command, args, options);
	if (code === 0) return output;
	const end = output.split("\n").slice(-60).join("\n");
	throw new Error(`${command} ${args.join(" ")} ended with ${code}\n${end}`);
}

/**
 * Runs tests by `cargo` with more in the environment; gives how many passed. Anything but success is a
 * finding.
 */
export function cargoTests(args, more = {}) {
	const env = { ...process.env, ...more };
	const { code, output } = attempt("cargo", args, { env });
	const results = [...output.matchAll(/^test result: ok\. (\d+) passed/gm)];
	const count = results.reduce((sum, [, passed]) => sum + Number(passed), 0);
	if (code === 0 && count > 0) return count;
	const told = Object.entries(more).map(
		([name, value]) => `${name}="${value}"`,
	);
	throw new Error(
		`${told.join(" ")} cargo ${args.join(" ")}: ${code}, ${count} tests passed\n${output.slice(-8_000)}`,
	);
}

/** This system, in the words of the compiler. */
export const host = () => /^host: (.*)$/m.exec(capture("rustc", ["-vV"]))[1];

/** More for the environment: `cargo` is that of the pinned nightly, and builds into `target/<folder>`. */
export function nightly(folder) {
	const installed = capture("rustup", [
		...["component", "list", "--installed", "--toolchain", NIGHTLY],
	]);
	if (!COMPONENTS.every((component) => installed?.includes(component)))
		execute("rustup", [
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

/** The path of a tool, which is built by the first one who asks. */
export function tool(name) {
	const version = TOOLS[name];
	const folder = targetFolder(join("tools", `${name}-${version}`));
	const program = join(folder, "bin", name);
	if (!existsSync(program)) {
		rmSync(folder, { recursive: true, force: true });
		execute("cargo", [
			...["install", "--quiet", "--locked", "--root", folder],
			...[name, "--version", version],
		]);
	}
	return program;
}
