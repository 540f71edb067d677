/** The steps that make a platform package, shared by several commands. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fingerprint, once } from "./cache.mjs";
import { capture, fail, root, run } from "./run.mjs";
import { logged } from "./steps.mjs";

/** The platform package of this machine. */
export function platformName() {
	const { platform, arch } = process;
	if (platform === "linux") {
		const { glibcVersionRuntime } = process.report.getReport().header;
		return `linux-${arch}-${glibcVersionRuntime ? "gnu" : "musl"}`;
	}
	return platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

/** The target triple of this machine. */
export const host = () => /^host: (.*)$/m.exec(capture("rustc", ["-vV"]) ?? "")?.[1];

/** The command that starts Python here, of a version for which the lists of requirements have digests. */
export function python() {
	const command = process.platform === "win32" ? "python" : "python3";
	if (!/^Python 3\.1[1-4]\b/.test(capture(command, ["--version"])))
		fail(`${command} is missing: install Python 3.11 to 3.14 (it builds the embedding model)`);
	return command;
}

/** A Python that has pip: the one here, or that of a virtual environment in the cache. */
function pythonWithPip() {
	if (capture(python(), ["-m", "pip", "--version"])) return python();
	// On Debian, it is a package of its own: python3-venv.
	const folder = once("pip", (target) => run(python(), ["-m", "venv", target]));
	return join(folder, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
}

/** The folder into which pip installs what a list of requirements has, once for each `system`. */
export function installWheels(name, requirements, system, options = []) {
	const flags = [
		"--quiet",
		"--disable-pip-version-check",
		"--no-deps",
		"--only-binary=:all:",
		"--require-hashes",
		"--no-compile",
	];
	return once(`${name}-${fingerprint(requirements)}-${system}`, (target) => {
		const files = ["--target", target, "--requirement", requirements];
		// Settings that forbid work outside of a virtual environment do not apply to us.
		const env = { ...process.env, PIP_REQUIRE_VIRTUALENV: "0", PIP_USER: "0" };
		run(pythonWithPip(), ["-m", "pip", "install", ...flags, ...options, ...files], { env });
	});
}

/** The profile of a checkout, which compiles quickly. `npm run bench` measures the optimised one. */
export const CHECKOUT = "dev";

/** Builds by a `cargo` command, for the step `name`; returns what cargo says of each artifact. */
export async function artifacts(name, args, env = process.env) {
	const command = ["cargo", ...args, "--message-format=json-render-diagnostics"];
	const messages = await logged(name, command, { env });
	const lines = messages.split("\n").filter((line) => line.includes('"compiler-artifact"'));
	return lines.map((line) => JSON.parse(line));
}

/** Builds the addon by a `cargo` command, for the step `name`; returns the path of the library. */
export async function cargo(name, args, env) {
	const all = await artifacts(name, [...args, "--package", "knowledgepulse-scoring-addon"], env);
	const built = all.find(({ target }) => target.kind.includes("cdylib"));
	const library = built?.filenames.find((file) => /\.(so|dylib|dll)$/.test(file));
	if (!library) fail("cargo built no addon");
	return library;
}

/** Copies a file, unless the other one has its contents. Running processes keep what they have opened. */
export function put(from, to) {
	const content = readFileSync(from);
	if (existsSync(to) && content.equals(readFileSync(to))) return;
	mkdirSync(dirname(to), { recursive: true });
	writeFileSync(`${to}.new`, content);
	renameSync(`${to}.new`, to);
}

/** Installs the addon of this machine into the checkout. */
export function installAddon(library) {
	const name = platformName();
	put(library, join(root, "npm", name, `scoring.${name}.node`));
}

/** Runs tools/model.mjs, as a step of that name, with these options. */
export const assets = (name, ...options) =>
	logged(name, [process.execPath, "tools/model.mjs", ...options]);

/** Puts the model into a platform package. */
export const platformAssets = (platform) => assets("model", "--platform", platform);

/** The notices for what the platform packages contain. */
export const NOTICES = join(root, "npm", "THIRD-PARTY-NOTICES.md");

/** What the addon opens beside itself. */
const OPENED = ["manifest.json", "model.bin", "model.onnx", "vocabulary.bin"];

/** The module of a platform package. */
function entry(name) {
	return `/** The addon of a platform. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

// A module that a bundler includes lacks one or both, and the addon that it copies lacks the files.
if (!module.filename || !module.paths)
	throw Object.assign(new Error("a bundler has included the addon"), { code: "ADDON_BUNDLED" });

module.exports = require("./scoring.${name}.node");

/** Names the files that the addon opens, for tools that look for them in the source. Nothing calls it. */
function _files() {
${OPENED.map((file) => `\treadFileSync(join(__dirname, "model/${file}"));\n`).join("")}}
`;
}

/** Writes the files that are the same or similar in all platform packages: notices, and the module. */
export function writeCommonFiles(platform) {
	const folder = join(root, "npm", platform);
	put(NOTICES, join(folder, basename(NOTICES)));
	const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	writeFileSync(join(folder, manifest.main), entry(platform));
}
