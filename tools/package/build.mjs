/** Compiles the addon of any platform that this machine can compile for. */
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { cargo, host, installWheels } from "../lib/build.mjs";
import { capture, root } from "../lib/run.mjs";
import { kept } from "../lib/unchanged.mjs";
import { PLATFORMS } from "./platforms.mjs";

const ZIG = join(root, "tools/package/zig-requirements.txt");

const system = (name) => name.split("-")[0];

/** The triple to compile for, and the linker: the machine's own or zig. */
function route(name) {
	const { triple, zig, elsewhere } = PLATFORMS[name];
	if (zig) return { triple, zig };
	if (system(name) === process.platform) return { triple };
	return { triple: elsewhere ?? triple, zig: elsewhere ?? triple };
}

/** Whether Rust's own library for the triple is installed or can be installed. */
function hasLibrary(triple) {
	if (triple === host()) return true;
	const installed = capture("rustup", ["target", "list", "--installed"]);
	return (
		installed?.split(/\s+/).includes(triple) ||
		capture("rustup", ["target", "add", triple]) !== undefined
	);
}

/** Why this machine cannot compile the addon of a platform, or undefined if it can. */
export function obstacle(name) {
	const { triple, zig } = route(name);
	if (system(name) === "darwin" && process.platform !== "darwin")
		return `the addon for ${name} is built on macOS, whose linker it needs`;
	if (zig && process.platform !== "linux")
		return `the addon for ${name} is built on Linux or on its own system`;
	if (!hasLibrary(triple)) return `rustup target add ${triple} failed (is there a network?)`;
	return undefined;
}

/** Compiles the addon of a platform for publication; returns the path of the file. */
export function buildAddon(name) {
	const { triple, zig } = route(name);
	const flags = JSON.stringify([...pathFlags(), ...linkFlags(name, triple)]);
	const profile = ["--lib", "--profile", "dist", "--target", zig ?? triple];
	const config = ["--config", `target.${triple}.rustflags=${flags}`];
	const command = [zig ? "zigbuild" : "build", ...profile, ...config];
	const build = () => cargo(`addon for ${name}`, command, zig ? zigEnvironment(name) : process.env);
	// Without the optimisations of what is published, it is only tried.
	return process.env.CARGO_PROFILE_DIST_LTO ? kept(`tried-addon-${name}`, build) : build();
}

function pathFlags() {
	// Panic messages contain source paths, which must not reveal this machine's folders.
	const cargoHome = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
	// If its sources are installed, the standard library is there instead of in /rustc.
	const toolchain = capture("rustc", ["--print", "sysroot"]).trim();
	return [
		`--remap-path-prefix=${cargoHome}=cargo`,
		`--remap-path-prefix=${toolchain}=rust`,
		`--remap-path-prefix=${root}=.`,
	];
}

/** Returns the linker flags for the addon of a platform, compiled for a triple. */
export function linkFlags(name, triple) {
	// musl is linked statically by default, which an addon cannot be.
	if (triple.endsWith("-musl")) return ["-Ctarget-feature=-crt-static"];
	// Not every Windows has the C runtime of Visual Studio.
	if (triple.endsWith("-msvc")) return ["-Ctarget-feature=+crt-static"];
	// A macOS library would contain the path where it was linked.
	if (system(name) === "darwin")
		return [`-Clink-arg=-Wl,-install_name,@rpath/scoring.${name}.node`];
	return [];
}

function zigEnvironment(name) {
	const folder = installWheels("zig", ZIG, process.arch);
	const env = { ...process.env };
	env.PATH = `${join(folder, "bin")}${delimiter}${process.env.PATH}`;
	env.CARGO_ZIGBUILD_ZIG_PATH = join(folder, "ziglang", "zig");
	if (system(name) === "win32") env.LIBNODE_PATH = importLibrary();
	return env;
}

/**
 * napi-build links the GNU flavour of Windows against a libnode.dll, which Node lacks. The addon
 * looks symbols up at run time, so an empty library suffices.
 */
function importLibrary() {
	const folder = join(root, "target", "libnode");
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "libnode.dll"), "");
	writeFileSync(join(folder, "libnode.a"), "!<arch>\n");
	return folder;
}
