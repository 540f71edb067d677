/** Checks of a tarball before it is published. Every function returns a list of complaints. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root, run } from "../lib/run.mjs";
import { importsOf } from "./imports.mjs";
import { ALWAYS, manifestText, withAddresses } from "./pack.mjs";
import { PLATFORMS } from "./platforms.mjs";

/** Of the main package, in bytes, as {@link mainSize} counts: some kilobytes above what it has, for sentences of a release. */
const MAIN_LIMIT = 180_000;
/** The longest that GitHub permits: 39 characters of an owner, 100 of a name. */
const LONGEST_URL = `https://github.com/${"o".repeat(39)}/${"n".repeat(100)}`;
/** The total size of an installation: of one with an addon that is linked quickly, 1 to 2 MB more than is published. */
const INSTALLED_LIMIT = 58_000_000;
/** The newest symbols of the C library that the Linux packages may need. */
const NEWEST_GLIBC = 28;

/** The oldest macOS that the packages run on. */
const OLDEST_MACOS = 13.4;

/** The libraries of every system. */
const OF_SYSTEM = {
	linux: /^(ld-linux-[\w-]+|libc(\.musl-\w+)?|lib(dl|gcc_s|m|pthread|rt))\.so(\.\d)?$/,
	darwin: /^\/(System\/Library|usr\/lib)\//,
	win32:
		/^(api-ms-win-[\w-]+|advapi32|bcrypt|bcryptprimitives|dbghelp|dxgi|kernel32|ntdll|setupapi|userenv|ws2_32)\.dll$/i,
};

/** The first bytes of a native file, and where it says which processor it is for. */
const FORMATS = {
	linux: { magic: "7f454c46", at: 18, x64: 0x3e, arm64: 0xb7 },
	darwin: { magic: "cffaedfe", at: 4, x64: 0x0007, arm64: 0x000c },
	win32: { magic: "4d5a", at: undefined, x64: 0x8664, arm64: 0xaa64 },
};

/** The size of the main package wherever its repository is, so that a release is no larger than what was checked before. */
export function mainSize(packed) {
	const manifest = manifestOf(packed);
	const bytes = (one) => Buffer.byteLength(manifestText(one));
	return packed.unpackedSize - bytes(manifest) + bytes(withAddresses(manifest, LONGEST_URL, ""));
}

/** Complaints about the main package. */
export function checkMain(packed) {
	const manifest = manifestOf(packed);
	const size = mainSize(packed);
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
		...(size > MAIN_LIMIT
			? [`${size} bytes with the longest addresses: expected at most ${MAIN_LIMIT}`]
			: []),
	];
}

/** The files of a workspace. */
const SHIPPED = /^(?!.*__test__).*\.(js|mjs|d\.ts|d\.mts|sql)$|^claude-code-plugin\/.*\.json$/;

/** Complaints about the package of a workspace. */
export function checkWorkspace(packed) {
	const shipped = packed.files.map(({ path }) => path).filter((path) => SHIPPED.test(path));
	return [
		...checkFiles(packed, [...shipped, ...ALWAYS, "package.json"]),
		...checkScripts(manifestOf(packed)),
	];
}

/** Complaints about a platform package; `main` is the tarball of the main package. */
export function checkPlatform(packed, main) {
	const manifest = manifestOf(packed);
	const model = JSON.parse(read(packed, "model/manifest.json"));
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
		...checkNames(packed, [
			...native,
			...expected.filter((file) => /\.(json|bin|onnx)$/.test(file)),
		]),
		...checkNotices(packed),
	];
}

/** Tools that trace files find those that the module of a platform package names. */
function checkNames(packed, files) {
	const text = read(packed, "index.js");
	return files
		.filter((file) => file !== "package.json" && !text.includes(`${file}"`))
		.map((file) => `index.js: does not name ${file}`);
}

function manifestOf(packed) {
	return JSON.parse(read(packed, "package.json"));
}

function read(packed, file, encoding = "utf8") {
	return readFileSync(join(packed.folder, file), encoding);
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

function checkNative(packed, { os, cpu, libc = [] }, file) {
	const bytes = readFileSync(join(packed.folder, file));
	const format = FORMATS[os[0]];
	const complaints = [];
	if (!bytes.toString("hex", 0, 4).startsWith(format.magic))
		complaints.push(`${file}: is not a library for ${os}`);
	// In a Windows file, the DOS stub has the offset of the header.
	const at = format.at ?? bytes.readUInt32LE(0x3c) + 4;
	const processor = bytes.readUInt16LE(at);
	if (processor !== format[cpu[0]])
		complaints.push(
			`${file}: expected processor 0x${format[cpu[0]].toString(16)}, found 0x${processor.toString(16)}`,
		);
	complaints.push(...checkImports(file, os[0], bytes));
	const text = bytes.toString("latin1");
	const versions = [...text.matchAll(/GLIBC_2\.(\d+)/g)].map((match) => Number(match[1]));
	if (libc[0] === "musl" && versions.length > 0) complaints.push(`${file}: wants glibc`);
	if (Math.max(...versions) > NEWEST_GLIBC)
		complaints.push(
			`${file}: wants glibc 2.${Math.max(...versions)}, expected at most 2.${NEWEST_GLIBC}`,
		);
	for (const place of [root, homedir()])
		if (text.includes(place)) complaints.push(`${file}: names a folder of this machine, ${place}`);
	return complaints;
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

/** The crates in the addons of all platforms, as `name version`, without those of this repository. */
export function linkedCrates() {
	const targets = Object.values(PLATFORMS).flatMap(({ triple }) => ["--target", triple]);
	const options = "--package knowledgepulse-scoring-addon --edges normal --prefix none --locked";
	const tree = run("cargo", ["tree", ...options.split(" "), ...targets], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	// The crates of this repository are followed by their folder.
	const crates = tree.matchAll(/^(\S+) v(\S+)(?: \(proc-macro\))?(?: \(\*\))?$/gm);
	return new Set(Array.from(crates, ([, name, version]) => `${name} ${version}`));
}

/** Complaints about the crates that the notices name, which should be those in the addons. */
export function checkCrates(notices, linked) {
	const lists = [...notices.matchAll(/^Used by (.*)$/gm)].map(([, list]) => list.split(", "));
	const named = new Set(lists.flat());
	const file = "THIRD-PARTY-NOTICES.md";
	return [
		...[...linked].filter((crate) => !named.has(crate)).map((crate) => `${file}: lacks ${crate}`),
		...[...named]
			.filter((crate) => !linked.has(crate))
			.map((crate) => `${file}: names ${crate}, which no addon contains`),
	];
}

/** Checks the licence texts of everything inside. */
function checkNotices(packed) {
	const complaints = checkCrates(read(packed, "THIRD-PARTY-NOTICES.md"), linkedCrates());
	if (statSync(join(packed.folder, "LICENSE")).size < 10_000)
		complaints.push("LICENSE: is not the Apache License 2.0");
	return complaints;
}
