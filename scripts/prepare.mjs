/**
 * Installs and builds whatever a checkout lacks: packages, model, ONNX Runtime, addon. Uses nothing
 * but Node itself, and says in one line what is missing on the machine.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
	cargo,
	copyNotices,
	platformName,
	prepareAssets,
} from "./lib/build.mjs";
import { capture, fail, root, run } from "./lib/run.mjs";

const OLDEST_NODE = 20;

function checkTools() {
	if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
		fail(
			`Node.js ${process.versions.node} is too old: ${OLDEST_NODE} or later is needed`,
		);
	if (!capture("cargo", ["--version"]))
		fail("cargo is missing: install Rust 1.89 or later");
	const platforms = readdirSync(join(root, "npm"));
	if (!platforms.includes(platformName()))
		fail(
			`no build for ${platformName()}: there are those for ${platforms.join(", ")}`,
		);
}

export function installPackages() {
	const installed = join(root, "node_modules", ".package-lock.json");
	const lock = join(root, "package-lock.json");
	if (
		existsSync(installed) &&
		statSync(installed).mtimeMs >= statSync(lock).mtimeMs
	)
		return;
	console.log("prepare: installing npm packages");
	run("npm", ["ci", "--no-audit", "--no-fund"], {
		shell: process.platform === "win32",
	});
}

async function buildAddon() {
	console.log("prepare: building the addon");
	const library = cargo(["build", "--release"]);
	const name = platformName();
	const addon = join(root, "npm", name, `scoring.${name}.node`);
	if (existsSync(addon) && statSync(addon).mtimeMs >= statSync(library).mtimeMs)
		return;
	// A process that has the old one loaded keeps it.
	await copyFile(library, `${addon}.new`);
	await rename(`${addon}.new`, addon);
}

export async function prepare() {
	checkTools();
	installPackages();
	// The plain export is the reference model of the tests.
	prepareAssets(platformName(), ["--plain", "benchmark/.model"]);
	await buildAddon();
	await copyNotices(platformName());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await prepare();
