/** Sets the version of all packages, in manifests, ranges and lock files: node tools/release/version.mjs 1.2.3 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, npm, root, run } from "../lib/run.mjs";
import { checkManifests, mainManifest, PLATFORMS, WORKSPACES } from "../package/platforms.mjs";

const { name: main, version: old } = mainManifest();
const version = process.argv[2];
if (!/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version ?? ""))
	fail(`expected a version such as 1.2.3 or 1.2.3-rc.1, found ${version}`);

/** Replaces the old version in a file, after each text that `before` matches. */
function edit(file, before) {
	const path = join(root, file);
	const text = readFileSync(path, "utf8");
	const found = new RegExp(`(${before})${old.replaceAll(".", "\\.")}"`, "gm");
	if (text.search(found) < 0) fail(`${file}: expected version ${old}`);
	writeFileSync(path, text.replace(found, `$1${version}"`));
}

for (const file of [
	"package.json",
	...Object.keys(PLATFORMS).map((name) => `npm/${name}/package.json`),
	...WORKSPACES.map((name) => `packages/${name}/package.json`),
	"packages/cli/claude-code-plugin/.claude-plugin/plugin.json",
])
	edit(file, `"(?:version|${main}(?:-[a-z]+)?)": "`);
edit("Cargo.toml", '^version = "');
for (const file of [
	"docs/install.md",
	"packages/transformers/README.md",
	"tools/install-matrix/sdk.mjs",
])
	edit(file, `${main}(?:-[a-z]+)?(?:": "|@)\\^`);
run("cargo", ["update", "--workspace", "--offline"]);
npm(["install", "--package-lock-only", "--ignore-scripts"]);
checkManifests(version);
console.log(`version: ${old} to ${version}; the changelog is yours to edit`);
