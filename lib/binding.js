/** Loads the addon of this platform: from `npm/` in a checkout of the repository, else from the platform package. */
const { Buffer } = require("node:buffer");
const {
	accessSync,
	closeSync,
	existsSync,
	openSync,
	readSync,
	readdirSync,
	realpathSync,
} = require("node:fs");
const { join } = require("node:path");
const { ScoringError } = require("./errors.js");

const PACKAGE = "@knowledgepulse/scoring";

/** Whether the C library of this process is musl, which its executable names in its head. */
function isMusl() {
	const head = Buffer.alloc(2048);
	try {
		const file = openSync("/proc/self/exe", "r");
		readSync(file, head, 0, head.length, 0);
		closeSync(file);
	} catch {
		// Not everything may be read.
	}
	const [, name] = /\/ld-(musl|linux)/.exec(head.toString("latin1")) ?? [];
	// It takes longer, because it can also run commands.
	return (name ?? require("detect-libc").familySync()) === "musl";
}

function platformName() {
	const { platform, arch } = process;
	if (platform === "win32") return `win32-${arch}-msvc`;
	if (platform !== "linux") return `${platform}-${arch}`;
	return `linux-${arch}-${isMusl() ? "musl" : "gnu"}`;
}

/** Loads the addon of a platform package. The names are literal, so that bundlers and file tracers find them. */
function requirePackage(name) {
	try {
		switch (name) {
			case "linux-x64-gnu":
				return require("@knowledgepulse/scoring-linux-x64-gnu");
			case "linux-arm64-gnu":
				return require("@knowledgepulse/scoring-linux-arm64-gnu");
			case "linux-x64-musl":
				return require("@knowledgepulse/scoring-linux-x64-musl");
			case "linux-arm64-musl":
				return require("@knowledgepulse/scoring-linux-arm64-musl");
			case "darwin-arm64":
				return require("@knowledgepulse/scoring-darwin-arm64");
			case "darwin-x64":
				return require("@knowledgepulse/scoring-darwin-x64");
			case "win32-x64-msvc":
				return require("@knowledgepulse/scoring-win32-x64-msvc");
			case "win32-arm64-msvc":
				return require("@knowledgepulse/scoring-win32-arm64-msvc");
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
	const found = folder && cause?.code === "MODULE_NOT_FOUND" ? inaccessible(folder) : cause;
	const [reason] = String(found?.message ?? found).split("\n");
	const remedy =
		found && REMEDIES.find(([pattern]) => pattern.test(`${found.code} ${reason}`))?.[1];
	if (remedy)
		return failure(`${folder ?? name} could not be loaded: ${reason}\n${remedy}`, { cause });
	const text = folder ? unusableText(folder, found && reason) : missingText(name);
	const how = folder ? "again" : "with your package manager";
	const command = `npm install ${PACKAGE}-${name}@${require("../package.json").version}`;
	return failure(`${text}\nInstall it ${how}, for example\n  ${command}`, folder && { cause });
}

/** Why a folder or what is in it cannot be read; undefined if it can, or is missing. */
function inaccessible(folder) {
	try {
		accessSync(join(folder, "package.json"));
	} catch (error) {
		if (error.code !== "ENOENT") return error;
	}
}

/** @type {[RegExp, string][]} What to do about failures that another installation would not mend, by code or message. */
const REMEDIES = [
	[
		/ADDON_BUNDLED/,
		`Mark ${PACKAGE} as external in the settings of the bundler, and deploy it in node_modules.`,
	],
	[
		/ERR_DLOPEN_DISABLED/,
		"Start Node.js without --no-addons, or with --allow-addons where it has --permission.",
	],
	[/NotCapable|--allow-ffi/, "Start Deno with --allow-ffi and --allow-read."],
	[
		/failed to map segment|noexec/,
		"Move node_modules to a file system that is not mounted with noexec.",
	],
	[
		/EACCES|EPERM|ERR_ACCESS_DENIED|[Pp]ermission denied/,
		"Let the user of this process read the folder and its files.",
	],
	[
		/GLIBC_\d|GLIBCXX_|Library not loaded/,
		"The system is too old: it needs glibc 2.28 on Linux, or macOS 13.4.",
	],
];

function unusableText(folder, reason) {
	if (!reason) return `${folder} is incomplete: it has no addon.`;
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

/** The folders in which packages are searched; none in a bundle. */
const searchFolders = () => require.resolve?.paths?.(PACKAGE) ?? [];

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

/** The platform packages in a folder, without the links to nothing that pnpm leaves. */
function installedIn(folder) {
	const [scope, prefix] = PACKAGE.split("/");
	try {
		return readdirSync(join(folder, scope))
			.filter((entry) => entry.startsWith(`${prefix}-`) && existsSync(join(folder, scope, entry)))
			.map((entry) => `${scope}/${entry}`);
	} catch {
		return [];
	}
}

/** Returns the addon. Throws a ScoringError with `code: "ADDON_NOT_FOUND"` that names what to install. */
function load() {
	const name = platformName();
	const local = join(__dirname, "..", "npm", name, `scoring.${name}.node`);
	// Bundlers would follow the path in a call of `require`. Loaded by two paths, the classes of the first would get objects of
	// the second: Node.js may leave links as they are.
	return existsSync(local)
		? require("node:module").createRequire(local)(realpathSync.native(local))
		: requirePackage(name);
}

module.exports = { load, platformName };
