/** Checks of a tarball before it is published. Every function returns a list of complaints. */
import { readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root } from "../lib/run.mjs";
import { importsOf } from "./imports.mjs";
import { ALWAYS } from "./pack.mjs";

/** The unpacked size of the main package: some kilobytes above what it has, for sentences and addresses of a release. */
const MAIN_LIMIT = 180_000;
/** The total size of an installation: of one with an addon that is linked quickly, 1 to 2 MB more than is published. */
const INSTALLED_LIMIT = 58_000_000;
/** The oldest macOS that the packages run on. */
const OLDEST_MACOS = 13.4;

/** The libraries of every system of a kind. */
const OF_SYSTEM = {
	darwin: /^\/(System\/Library|usr\/lib)\//,
	win32:
		/^(api-ms-win-[\w-]+|advapi32|bcrypt|bcryptprimitives|dbghelp|dxgi|kernel32|ntdll|setupapi|userenv|ws2_32)\.dll$/i,
};

/** Complaints about the main package. */
export function checkMain(packed) {
	const manifest = json(packed, "package.json");
	const size = packed.unpackedSize;
	return [
		...checkFiles(packed, [
			"index.js",
			"index.d.ts",
			"package.json",
			...ALWAYS,
			...readdirSync(join(root, "lib"), { recursive: true })
				.filter((name) => /\.(js|mjs|d\.ts|d\.mts)$/.test(name))
				.map((name) => `lib/${name.replaceAll("\\", "/")}`),
		]),
		...checkScripts(manifest),
		...(size > MAIN_LIMIT ? [`${size} bytes: expected at most ${MAIN_LIMIT}`] : []),
	];
}

/** The files of a workspace. */
const SHIPPED = /^(?!.*__test__).*\.(js|mjs|d\.ts|d\.mts|sql)$|^claude-code-plugin\/.*\.json$/;

/** Complaints about the package of a workspace. */
export function checkWorkspace(packed) {
	const shipped = packed.files.map(({ path }) => path).filter((path) => SHIPPED.test(path));
	return [
		...checkFiles(packed, [...shipped, ...ALWAYS, "package.json"]),
		...checkScripts(json(packed, "package.json")),
	];
}

/** Complaints about a platform package; `main` is the tarball of the main package. */
export function checkPlatform(packed, main) {
	const manifest = json(packed, "package.json");
	const model = json(packed, "model/manifest.json");
	const expected = [
		...manifest.files.filter((file) => file !== "model"),
		...model.files.map(({ name }) => `model/${name}`),
		"model/manifest.json",
		"model/LICENSE",
		"LICENSE",
		"README.md",
		"package.json",
	];
	const installed = packed.unpackedSize + main.unpackedSize;
	const native = manifest.files.filter((file) => file.endsWith(".node"));
	return [
		...checkFiles(packed, expected),
		...checkScripts(manifest),
		...(installed > INSTALLED_LIMIT
			? [`${installed} bytes installed: expected at most ${INSTALLED_LIMIT}`]
			: []),
		...native.flatMap((file) => checkNative(packed, manifest, file)),
	];
}

function json(packed, file) {
	return JSON.parse(readFileSync(join(packed.folder, file), "utf8"));
}

/** Exactly these files, none of them empty. */
function checkFiles(packed, expected) {
	const found = packed.files.map(({ path }) => path);
	return [
		...found
			.filter((path) => !expected.includes(path))
			.map((path) => `${path}: should not be in the package`),
		...expected.filter((path) => !found.includes(path)).map((path) => `${path}: is missing`),
		...packed.files.filter(({ size }) => size === 0).map(({ path }) => `${path}: is empty`),
	];
}

/** Complaints about what a manifest makes package managers run; they need no script of a published package. */
function checkScripts(manifest) {
	const found = ["scripts", "gypfile"].filter((name) => name in manifest);
	return found.map((name) => `package.json: has ${name}`);
}

/** Complaints about an addon. What those for Linux need, the workflow `packages` finds on the oldest systems. */
function checkNative(packed, { os: [os] }, file) {
	const bytes = readFileSync(join(packed.folder, file));
	const text = bytes.toString("latin1");
	return [
		...(os === "linux" ? [] : checkImports(file, os, bytes)),
		...[root, homedir()]
			.filter((place) => text.includes(place))
			.map((place) => `${file}: names a folder of this machine, ${place}`),
	];
}

/** Complaints about the system requirements of a native file; `os` as in Node.js. */
export function checkImports(file, os, bytes) {
	const { libraries, name, system } = importsOf(bytes);
	const missing = libraries.filter((library) => !OF_SYSTEM[os].test(library));
	const complaints = missing.map(
		(library) => `${file}: needs ${library}, which not every system has`,
	);
	if (os === "darwin" && name !== `@rpath/${file}`)
		complaints.push(`${file}: expected the install name @rpath/${file}, found ${name}`);
	if (Number(system) > OLDEST_MACOS)
		complaints.push(`${file}: wants macOS ${system}, expected at most ${OLDEST_MACOS}`);
	return complaints;
}
