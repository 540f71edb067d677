/** Compiles the addon of any platform that this machine can compile for. */
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { cargo, host, installWheels } from "../lib/build.mjs";
import { capture, root } from "../lib/run.mjs";
import { kept } from "../lib/unchanged.mjs";
import { PLATFORMS } from "./platforms.mjs";

const ZIG = join(root, "tools/package/zig-requirements.txt");

/** The oldest glibc that the packages run on. */
const GLIBC = "2.28";

const system = (name) => name.split("-")[0];

/** Why this machine cannot compile the addon of a platform, or undefined if it can. */
export function obstacle(name) {
	const triple = PLATFORMS[name];
	if (system(name) !== process.platform) return `the addon for ${name} is built on its own system`;
	if (triple !== host() && capture("rustup", ["target", "add", triple]) === undefined)
		return `rustup target add ${triple} failed (is there a network?)`;
	return undefined;
}

/** Compiles the addon of a platform for publication; returns the path of the file. */
export function buildAddon(name) {
	const triple = PLATFORMS[name];
	const target = name.endsWith("-gnu") ? `${triple}.${GLIBC}` : triple;
	// Linking against this machine's C library would require an equally new one.
	const zig = system(name) === "linux";
	const flags = JSON.stringify([...pathFlags(), ...linkFlags(name, triple)]);
	const profile = ["--lib", "--profile", "dist", "--target", target];
	const config = ["--config", `target.${triple}.rustflags=${flags}`];
	const command = [zig ? "zigbuild" : "build", ...profile, ...config];
	const build = () => cargo(`addon for ${name}`, command, zig ? zigEnvironment() : process.env);
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

function zigEnvironment() {
	const folder = installWheels("zig", ZIG, process.arch);
	const env = { ...process.env };
	env.PATH = `${join(folder, "bin")}${delimiter}${process.env.PATH}`;
	env.CARGO_ZIGBUILD_ZIG_PATH = join(folder, "ziglang", "zig");
	return env;
}
