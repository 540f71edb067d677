/**
 * A headless Chromium for tests: Debian's package, unpacked once into the cache folder and not installed, as npm has one for
 * Node.js 22 on x64 alone. As a program, it prints the path; nothing on other systems.
 */
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { once } from "./cache.mjs";
import { run } from "./run.mjs";

/** GNU's name of the processors that Chromium runs on. */
const MACHINES = { x64: "x86_64", arm64: "aarch64" };

/** Starts the browser with the libraries and fonts that are unpacked beside it, and no other fonts. */
const wrapper = (triplet) => `#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)
# The system's libraries come first, because its C library must match its loader.
libraries=$root/usr/lib/${triplet}
export LD_LIBRARY_PATH=/usr/lib/${triplet}:$libraries:$libraries/pulseaudio
export FONTCONFIG_SYSROOT=$root FONTCONFIG_FILE=/etc/fonts/fonts.conf XDG_CACHE_HOME=$root/cache
exec "$root/usr/lib/chromium/chromium-headless-shell" "$@"
`;

/** The name of this machine's release of Debian, whose libraries match the system's; undefined on other systems. */
function release() {
	const file = "/etc/os-release";
	const text = existsSync(file) ? readFileSync(file, "utf8") : "";
	return /^ID=debian$/m.test(text) ? /^VERSION_CODENAME=(\w+)$/m.exec(text)?.[1] : undefined;
}

/** Unpacks packages of Debian, and all that they depend on, into a folder. */
function unpack(packages, folder) {
	const state = join(folder, "apt");
	for (const part of ["lists/partial", "cache/archives/partial"])
		mkdirSync(join(state, part), { recursive: true });
	// Apt considers nothing else installed, so that it fetches everything needed; but drawing uses no graphics card.
	const card = "Package: libgl1-mesa-dri\nStatus: install ok installed\nVersion: 9999\n";
	const own = process.arch === "x64" ? "amd64" : process.arch;
	writeFileSync(join(state, "status"), `${card}Architecture: ${own}\n`);
	const settings = {
		"APT::Install-Recommends": "false",
		"APT::Sandbox::User": "root",
		"Dir::Cache": join(state, "cache"),
		"Dir::State::Lists": join(state, "lists"),
		"Dir::State::Status": join(state, "status"),
	};
	const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
	const quiet = { stdio: ["ignore", "ignore", "inherit"] };
	run("apt-get", [...options, "-qq", "update"], quiet);
	run("apt-get", [...options, "-qq", "-y", "--download-only", "install", ...packages], quiet);
	const archives = join(state, "cache", "archives");
	for (const file of readdirSync(archives).filter((name) => name.endsWith(".deb")))
		run("dpkg-deb", ["--extract", join(archives, file), folder], quiet);
	rmSync(state, { recursive: true });
}

const [machine, suite] = [MACHINES[process.arch], release()];
if (machine && suite) {
	const folder = once(`chromium-${suite}-${machine}`, (target) => {
		unpack(["chromium-headless-shell", "fonts-dejavu-core"], target);
		writeFileSync(join(target, "chromium"), wrapper(`${machine}-linux-gnu`));
		chmodSync(join(target, "chromium"), 0o755);
	});
	console.log(join(folder, "chromium"));
}
