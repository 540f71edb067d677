/** Loads the addon of this platform: from `npm/` in a checkout of the repository, else from the platform package. */
const { existsSync, readdirSync } = require("node:fs");
const { join } = require("node:path");
const { ScoringError } = require("./errors.js");

const PACKAGE = "@knowledgepulse/scoring";

/** The name of this platform in its package. */
function platformName() {
	const { platform, arch } = process;
	if (platform === "win32") return `win32-${arch}-msvc`;
	if (platform !== "linux") return `${platform}-${arch}`;
	const libc = require("detect-libc").familySync();
	return `linux-${arch}-${libc === "musl" ? "musl" : "gnu"}`;
}

/**
 * Loads the addon of a platform package. The paths are literal, so that bundlers and file tracers find them, and
 * include the file name, because executables made by Bun do not read package.json.
 */
function requirePackage(name) {
	try {
		switch (name) {
			case "linux-x64-gnu":
				return require("@knowledgepulse/scoring-linux-x64-gnu/scoring.linux-x64-gnu.node");
			case "linux-arm64-gnu":
				return require("@knowledgepulse/scoring-linux-arm64-gnu/scoring.linux-arm64-gnu.node");
			case "linux-x64-musl":
				return require("@knowledgepulse/scoring-linux-x64-musl/scoring.linux-x64-musl.node");
			case "linux-arm64-musl":
				return require("@knowledgepulse/scoring-linux-arm64-musl/scoring.linux-arm64-musl.node");
			case "darwin-arm64":
				return require("@knowledgepulse/scoring-darwin-arm64/scoring.darwin-arm64.node");
			case "darwin-x64":
				return require("@knowledgepulse/scoring-darwin-x64/scoring.darwin-x64.node");
			case "win32-x64-msvc":
				return require("@knowledgepulse/scoring-win32-x64-msvc/scoring.win32-x64-msvc.node");
			case "win32-arm64-msvc":
				return require("@knowledgepulse/scoring-win32-arm64-msvc/scoring.win32-arm64-msvc.node");
		}
	} catch (error) {
		throw notLoaded(name, error);
	}
	throw failure(
		`there is no package for ${name}. There are packages for Linux (glibc and musl), macOS and Windows, each on x64 and arm64.`,
	);
}

function failure(text, options) {
	return new ScoringError(`${PACKAGE}: ${text}`, { code: "ADDON_NOT_FOUND", ...options });
}

function notLoaded(name, cause) {
	const folder = installedAt(name);
	const text = folder ? unusableText(folder, cause) : missingText(name);
	const how = folder ? "again" : "with your package manager";
	const command = `npm install ${PACKAGE}-${name}@${require("../package.json").version}`;
	return failure(`${text}\nInstall it ${how}, for example\n  ${command}`, folder && { cause });
}

function unusableText(folder, cause) {
	if (cause?.code === "MODULE_NOT_FOUND") return `${folder} is incomplete: it has no addon.`;
	const [reason] = String(cause?.message ?? cause).split("\n");
	return `${folder} could not be loaded: ${reason}\nIt needs glibc 2.28 or musl 1.2 on Linux, macOS 13.4, or Windows 10. Where the system has that, the file is damaged.`;
}

function missingText(name) {
	const folders = searchFolders();
	const others = folders.flatMap(installedIn).filter((other) => other !== `${PACKAGE}-${name}`);
	const reason =
		others.length > 0
			? `Found instead: ${[...new Set(others)].join(", ")}. So node_modules was installed on or for another system.`
			: "It was probably installed with --omit=optional, or with a lock file from another system, whose optional dependencies npm then leaves out.";
	return `the package with the addon for this system, ${PACKAGE}-${name}, is not installed.\nLooked in: ${folders.join(", ") || __dirname}\n${reason}`;
}

/** The folders in which packages are searched. */
const searchFolders = () => require.resolve.paths(PACKAGE) ?? [];

/** The addon of a platform package, or the folder where it should be; undefined for no package. */
function installedAt(name) {
	try {
		return require.resolve(`${PACKAGE}-${name}/scoring.${name}.node`);
	} catch {
		return searchFolders()
			.map((folder) => join(folder, `${PACKAGE}-${name}`))
			.find(existsSync);
	}
}

/** The platform packages in a folder of packages. */
function installedIn(folder) {
	const [scope, prefix] = PACKAGE.split("/");
	try {
		return readdirSync(join(folder, scope))
			.filter((entry) => entry.startsWith(`${prefix}-`))
			.map((entry) => `${scope}/${entry}`);
	} catch {
		return [];
	}
}

/** Returns the addon. Throws a ScoringError with `code: "ADDON_NOT_FOUND"` that names what to install. */
module.exports = function load() {
	const name = platformName();
	const local = join(__dirname, "..", "npm", name, `scoring.${name}.node`);
	return existsSync(local) ? require(local) : requirePackage(name);
};
