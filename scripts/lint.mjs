/** Lint, format and type checks of all three languages. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { root, run } from "./lib/run.mjs";

const RUFF = "0.17.5";

/** The folder of ruff, which is a Python package, inside the checkout. */
function installRuff() {
	const folder = join(root, "node_modules", ".cache", `ruff-${RUFF}`);
	if (!existsSync(join(folder, "bin")))
		run(python(), [
			...["-m", "pip", "install", "--quiet", "--no-deps"],
			...["--target", folder, `ruff==${RUFF}`],
		]);
	return join(folder, "bin", "ruff");
}

const PYTHON = ["model", "scripts", "benchmark"];
const ruff = installRuff();
run("cargo", ["fmt", "--check"]);
run("cargo", ["clippy", "--all-targets", "--", "-D", "warnings"]);
run("npx", ["biome", "ci", "--error-on-warnings", "."]);
run("npx", ["tsc", "--noEmit", "-p", "benchmark"]);
run(ruff, ["check", ...PYTHON]);
run(ruff, ["format", "--check", ...PYTHON]);
