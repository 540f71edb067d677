/** Sets the version of all packages, in manifests, ranges and lock files: node tools/release/version.mjs 1.2.3 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, npm, root, run } from "../lib/run.mjs";
import { checkManifests, mainManifest, PLATFORMS, WORKSPACES } from "../package/platforms.mjs";

const { name: main, version: old } = mainManifest();
const version = process.argv[2];
if (!/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version ?? ""))
	fail(`expected a version such as 1.2.3 or 1.2.3-rc.1, found ${version}`);

function edit(file, text, replacement) {
	const path = join(root, file);
	const before = readFileSync(path, "utf8");
	if (!before.includes(text)) fail(`${file}: expected ${text}`);
	writeFileSync(path, before.replaceAll(text, replacement));
}

const own = [`"version": "${old}"`, `"version": "${version}"`];
const manifests = [
	"package.json",
	...Object.keys(PLATFORMS).map((name) => `npm/${name}/package.json`),
	...WORKSPACES.map((name) => `packages/${name}/package.json`),
];
for (const file of manifests) edit(file, ...own);
for (const name of WORKSPACES) {
	const file = `packages/${name}/package.json`;
	const text = readFileSync(join(root, file), "utf8");
	const range = new RegExp(`("${main}(?:-[a-z]+)?": "\\^)${old.replaceAll(".", "\\.")}"`, "g");
	writeFileSync(join(root, file), text.replace(range, `$1${version}"`));
}
edit("Cargo.toml", `version = "${old}"`, `version = "${version}"`);
edit("packages/transformers/README.md", `-transformers@^${old}"`, `-transformers@^${version}"`);
run("cargo", ["update", "--workspace", "--offline"]);
npm(["install", "--package-lock-only", "--ignore-scripts"]);
checkManifests(version);
console.log(`version: ${old} to ${version}; the changelog is yours to edit`);
