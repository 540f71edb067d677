/**
 * Installs and builds what a checkout lacks: packages, model, ONNX Runtime, addon. Uses nothing but
 * Node.js itself, and says in one line what is missing on the machine.
 */
import { copyFileSync, existsSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cargo, copyNotices, platformName, prepareAssets } from "./lib/build.mjs";
import { capture, fail, npm, root } from "./lib/run.mjs";
import { PLATFORMS } from "./package/platforms.mjs";

const OLDEST_NODE = 20;

function checkTools() {
	if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
		fail(`Node.js ${process.versions.node} is too old: ${OLDEST_NODE} or later is needed`);
	if (!capture("cargo", ["--version"])) fail("cargo is missing: install Rust 1.89 or later");
	if (!(platformName() in PLATFORMS))
		fail(
			`no build for ${platformName()}: there are those for ${Object.keys(PLATFORMS).join(", ")}`,
		);
}

/** Whether a folder has the packages of its lock file. */
export function hasPackages(folder) {
	// npm writes this file last.
	const installed = join(folder, "node_modules", ".package-lock.json");
	const lock = join(folder, "package-lock.json");
	return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}

export function installPackages() {
	if (hasPackages(root)) return;
	console.log("prepare: installing npm packages");
	npm(["ci", "--no-audit", "--no-fund"]);
}

function buildAddon() {
	console.log("prepare: building the addon");
	const library = cargo(["build", "--release"]);
	const name = platformName();
	const addon = join(root, "npm", name, `scoring.${name}.node`);
	if (existsSync(addon) && statSync(addon).mtimeMs >= statSync(library).mtimeMs) return;
	// A process that has loaded the old one keeps it.
	copyFileSync(library, `${addon}.new`);
	renameSync(`${addon}.new`, addon);
}

function prepare() {
	checkTools();
	installPackages();
	// The plain export is the reference model of the tests; the others stand for models of users.
	prepareAssets(platformName(), [
		...["--plain", "benchmark/.model"],
		...["--own-models", "__test__/.models"],
	]);
	buildAddon();
	copyNotices(platformName());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepare();
