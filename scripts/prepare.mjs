/**
 * Installs and builds whatever a checkout lacks: packages, model, ONNX Runtime, addon. Uses nothing
 * but Node itself, and says in one line what is missing on the machine.
 */
import { existsSync, statSync } from "node:fs";
import { copyFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { capture, fail, root, run } from "./lib/run.mjs";

const SUPPORTED = ["linux-x64-gnu"];
const OLDEST_NODE = 20;

/** The platform package of this machine. */
export function platformName() {
	const { platform, arch } = process;
	if (platform === "linux") return `linux-${arch}-gnu`;
	return platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

/** The command that starts Python 3 here. */
export function python() {
	const command = process.platform === "win32" ? "python" : "python3";
	if (!capture(command, ["--version"])?.includes("Python 3"))
		fail(
			`${command} is missing: install Python 3.11 or later (it builds the embedding model)`,
		);
	return command;
}

function checkTools() {
	if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
		fail(
			`Node.js ${process.versions.node} is too old: ${OLDEST_NODE} or later is needed`,
		);
	if (!capture("cargo", ["--version"]))
		fail("cargo is missing: install Rust 1.89 or later");
	if (!SUPPORTED.includes(platformName()))
		fail(
			`no build for ${platformName()} yet: this version builds on ${SUPPORTED.join(", ")}`,
		);
}

function installPackages() {
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

/** Model and ONNX Runtime into the platform package, and the reference model of tests. */
function prepareAssets() {
	const source = process.env.KNOWLEDGEPULSE_MODEL_SOURCE;
	run(python(), [
		...["scripts/assets.py", "--platform", platformName()],
		...["--out", `npm/${platformName()}`, "--plain", "benchmark/.model"],
		...(source ? ["--model-source", source] : []),
	]);
}

async function buildAddon() {
	console.log("prepare: building the addon");
	const messages = run(
		"cargo",
		["build", "--release", "--message-format=json-render-diagnostics"],
		{ stdio: ["inherit", "pipe", "inherit"], maxBuffer: 1 << 28 },
	);
	const built = messages
		.split("\n")
		.filter((line) => line.includes('"compiler-artifact"'))
		.map((line) => JSON.parse(line))
		.find((artifact) => artifact.target.kind.includes("cdylib"));
	const library = built?.filenames.find((name) =>
		/\.(so|dylib|dll)$/.test(name),
	);
	if (!library) fail("cargo built no addon");
	const name = platformName();
	const addon = join(root, "npm", name, `scoring.${name}.node`);
	if (existsSync(addon) && statSync(addon).mtimeMs >= statSync(library).mtimeMs)
		return;
	// A process that has the old one loaded keeps it.
	await copyFile(library, `${addon}.new`);
	await rename(`${addon}.new`, addon);
}

/** Every package carries the licence and the notices for what it contains. */
async function copyNotices() {
	for (const file of ["LICENSE", "THIRD-PARTY-NOTICES.md"])
		await copyFile(join(root, file), join(root, "npm", platformName(), file));
}

export async function prepare() {
	checkTools();
	installPackages();
	prepareAssets();
	await buildAddon();
	await copyNotices();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await prepare();
