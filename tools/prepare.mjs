/**
 * Installs and builds what a checkout lacks; one line names what is missing on the machine. Uses only
 * Node.js itself.
 *
 *     node tools/prepare.mjs           the package: addon and model (npm run demo)
 *     node tools/prepare.mjs --all     also what the tests need
 *     node tools/prepare.mjs --bench   the same, with the addon as it is published (npm run bench)
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeFormats } from "./formats.mjs";
import {
	assets,
	CHECKOUT,
	cargo,
	installAddon,
	platformAssets,
	platformName,
	python,
	writeCommonFiles,
} from "./lib/build.mjs";
import { capture, fail, root, SHELL } from "./lib/run.mjs";
import { logged, step } from "./lib/steps.mjs";
import { kept } from "./lib/unchanged.mjs";
import { PLATFORMS } from "./package/platforms.mjs";

const OLDEST_NODE = 20;

export function checkTools() {
	if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
		fail(`Node.js ${process.versions.node} is too old: ${OLDEST_NODE} or later is needed`);
	if (!capture("cargo", ["--version"])) fail("cargo is missing: install Rust 1.89 or later");
	if (process.platform !== "win32" && !capture("cc", ["--version"]))
		fail("cc is missing: install a C compiler, with which Rust links");
	python();
	if (!(platformName() in PLATFORMS))
		fail(
			`no build for ${platformName()}: there are those for ${Object.keys(PLATFORMS).join(", ")}`,
		);
}

const json = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));

/** Whether a folder has the packages of its lock file, or those that run without the others. */
function hasPackages(folder, all) {
	let installed;
	try {
		installed = json(folder, "node_modules", ".package-lock.json").packages;
	} catch {
		return false;
	}
	return Object.entries(json(folder, "package-lock.json").packages)
		.filter(([path, { dev, optional }]) => path && !optional && (all || !dev))
		.every(([path, { version }]) => path in installed && installed[path].version === version);
}

/** Installs the packages of the lock file: all, or what the workspaces need to run. */
export async function installPackages(all = true) {
	if (hasPackages(root, all)) return;
	const command = ["npm", "ci", ...(all ? [] : ["--omit=dev"])];
	await step("npm packages", () => logged("npm packages", command, SHELL));
}

/** The addon that the checkout loads. */
export const prepareAddon = (profile = CHECKOUT) =>
	step("addon", async () => {
		const build = () => cargo("addon", ["build", "--profile", profile]);
		installAddon(await kept(`addon-${profile}-${platformName()}`, build));
	});

/** The files beside the addon. */
export function prepareModel() {
	const platform = platformName();
	writeCommonFiles(platform);
	return step("model", () => platformAssets(platform));
}

/** Models for tests: a plain export as the reference, and small custom ones. */
export const prepareTestModels = () =>
	step("models for tests", () => assets("models for tests", "--test-models"));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const bench = process.argv.includes("--bench");
	const all = bench || process.argv.includes("--all");
	checkTools();
	console.log("Installs and builds what is missing: about 2 minutes the first time, with 2 cores.");
	writeFormats();
	await Promise.all([
		installPackages(all),
		prepareModel().then(() => all && prepareTestModels()),
		prepareAddon(bench ? "release" : CHECKOUT),
	]);
}
