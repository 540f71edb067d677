/** Copies the files of a package into a separate folder, and makes its tarball. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { platformAssets, writeCommonFiles } from "../lib/build.mjs";
import { capture, filesBelow, npm, root } from "../lib/run.mjs";
import { step } from "../lib/steps.mjs";
import { buildAddon } from "./build.mjs";
import { mainManifest, PLATFORMS, platformManifest, workspaceManifest } from "./platforms.mjs";

/** The folder of the tarballs. */
export const DIST = join(root, "dist");

/** A comment on lines of its own, or an empty line. */
const COMMENT = /^[\t ]*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)?\n/gm;

/** Files that npm includes in every package, besides package.json. */
export const ALWAYS = ["README.md", "LICENSE"];

/** Makes the tarball of the main package; returns what {@link pack} does. */
export function packMain() {
	const manifest = published(mainManifest(), "");
	// Not in the repository: `npm ci` there would ask for packages that are not published yet.
	manifest.optionalDependencies = Object.fromEntries(
		Object.keys(PLATFORMS).map((name) => [platformManifest(name).name, manifest.version]),
	);
	const folder = stage("main", manifest, root, [...manifest.files, "README.md"]);
	// Comments are for those who read the repository; users have those of the types.
	for (const path of filesBelow("dist/stage/main/lib", ".js")) {
		const file = join(root, path);
		writeFileSync(file, readFileSync(file, "utf8").replace(COMMENT, ""));
	}
	return pack(folder);
}

/** Builds missing and outdated files of a platform package, and makes its tarball. */
export async function packPlatform(name) {
	await step(`files for ${name}`, () => platformAssets(name));
	writeCommonFiles(name);
	const addon = await step(`addon for ${name}`, () => buildAddon(name));
	const manifest = published(platformManifest(name), `npm/${name}`);
	const file = `scoring.${name}.node`;
	const files = manifest.files.filter((other) => other !== file);
	const from = join(root, "npm", name);
	const folder = stage(name, manifest, from, files);
	cpSync(addon, join(folder, file));
	writeFileSync(
		join(folder, "README.md"),
		`# ${manifest.name}\n\n${manifest.description}.\nIt is installed along with \`${mainManifest().name}\`, which documents it.\n`,
	);
	return pack(folder);
}

/** Makes the tarball of a workspace. */
export function packWorkspace(name) {
	const manifest = published(workspaceManifest(name), `packages/${name}`);
	const from = join(root, "packages", name);
	return pack(stage(name, manifest, from, [...manifest.files, "README.md"]));
}

/** The URL of the repository: that of the release, against which provenance is checked, or of the checkout. */
function repository() {
	const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
	if (server && name) return `${server}/${name}`;
	const remote = capture("git", ["remote", "get-url", "origin"])?.trim();
	return remote?.startsWith("https://") ? remote.replace(/\.git$/, "") : undefined;
}

/** The manifest as it is published; `directory` is its place in the repository. */
function published(
	{ private: _, scripts, devDependencies, overrides, workspaces, ...manifest },
	directory,
) {
	const url = repository();
	if (!url) return manifest;
	return {
		...manifest,
		homepage: directory ? `${url}/tree/main/${directory}#readme` : `${url}#readme`,
		bugs: `${url}/issues`,
		repository: { type: "git", url: `git+${url}.git`, ...(directory && { directory }) },
	};
}

function stage(name, manifest, from, files) {
	const folder = join(DIST, "stage", name);
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
	for (const file of files) cpSync(join(from, file), join(folder, file), { recursive: true });
	writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
	return folder;
}

/** Makes a tarball in dist/; returns its path, the folder, and npm's report on the contents. */
function pack(folder) {
	const printed = npm(["pack", "--json", "--silent", "--pack-destination", DIST, folder], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const [account] = JSON.parse(printed);
	return { ...account, folder, path: join(DIST, account.filename) };
}
