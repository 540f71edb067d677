/** Lint, format and type checks of all languages, and of the workflows, which ci.yml also checks with actionlint. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { installWheels } from "./lib/build.mjs";
import { npx, root, run } from "./lib/run.mjs";
import { unlessPassed } from "./lib/unchanged.mjs";

const FORMATS = "crates/import/src/formats";

const requirements = join(root, "tools/lint-requirements.txt");
const wheels = installWheels("lint", requirements, `${process.platform}-${process.arch}`);
const ruff = join(wheels, "bin/ruff");
const folders = ["model", "benchmark", "crates", "examples", "__test__/models"];

run("cargo", ["fmt", "--all", "--check"]);
run("cargo", ["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]);
// `cargo fmt` does not know the modules that a macro declares.
const formats = readdirSync(join(root, FORMATS)).map((name) => `${FORMATS}/${name}`);
run("rustfmt", ["--check", ...formats.map((path) => path.replace(/(?<!\.rs)$/, "/mod.rs"))]);
run("node", ["tools/circles.mjs"]);
await unlessPassed("clippy", () =>
	run("cargo", ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
);
npx(["biome", "ci", "--error-on-warnings", "."]);
npx(["tsc", "-p", "tools"]);
run(ruff, ["check", ...folders]);
run(ruff, ["format", "--check", ...folders]);
run(join(wheels, "bin/zizmor"), ["--offline", "--quiet", "--strict-collection", ".github"]);
