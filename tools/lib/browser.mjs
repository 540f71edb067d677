/** A headless Chromium for tests: Debian's, as npm has one for Node.js 22 on x64 alone. As a program, it prints the path. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "./cache.mjs";
import { mirror, unpack } from "./debian.mjs";
import { capture } from "./run.mjs";

/** Debian's name and GNU's of the processors that Chromium runs on. */
const PROCESSORS = { x64: ["amd64", "x86_64"], arm64: ["arm64", "aarch64"] };

/** Commands or paths of installed browsers. */
const INSTALLED = {
	linux: ["google-chrome", "google-chrome-stable", "chromium", "chromium-browser"],
	darwin: [
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
	],
	win32: ["ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"]
		.map((variable) => process.env[variable])
		.filter(Boolean)
		.map((folder) => join(folder, "Google/Chrome/Application/chrome.exe")),
};

/** Starts the browser with the libraries and fonts that are unpacked beside it, and no other fonts. */
const wrapper = (triplet) => `#!/bin/sh
root=$(cd "$(dirname "$0")" && pwd)
# The system's libraries come first, because its C library must match its loader.
libraries=$root/usr/lib/${triplet}
export LD_LIBRARY_PATH=/usr/lib/${triplet}:$libraries:$libraries/pulseaudio
export FONTCONFIG_FILE=$root/fonts.conf XDG_CACHE_HOME=$root/cache
exec "$root/usr/lib/chromium/chromium-headless-shell" "$@"
`;

const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
	<dir prefix="relative">usr/share/fonts</dir>
	<cachedir prefix="xdg">fontconfig</cachedir>
	<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
	<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`;

/** The name of this machine's release of Debian; undefined on other systems. */
function release() {
	const file = "/etc/os-release";
	if (!existsSync(file)) return undefined;
	const text = readFileSync(file, "utf8");
	return /^ID=debian$/m.test(text) ? /^VERSION_CODENAME=(\w+)$/m.exec(text)?.[1] : undefined;
}

/** Unpacks Debian's Chromium; null if there is none. */
function unpacked() {
	const [processor, machine] = PROCESSORS[process.arch] ?? [];
	// The libraries of another release would not match the system's.
	const suite = release();
	if (!processor || !suite || !mirror()) return null;
	const folder = once(`chromium-${suite}-${processor}`, (target) => {
		const packages = ["chromium-headless-shell", "fonts-dejavu-core"];
		// Drawing does not use a graphics card.
		const without = ["libgl1-mesa-dri"];
		unpack({ suite, processor, packages, without }, target);
		writeFileSync(join(target, "fonts.conf"), FONTS);
		writeFileSync(join(target, "chromium"), wrapper(`${machine}-linux-gnu`));
		chmodSync(join(target, "chromium"), 0o755);
	});
	return join(folder, "chromium");
}

function installed() {
	const found = (name) =>
		existsSync(name) ? name : process.platform === "linux" && capture("which", [name])?.trim();
	return INSTALLED[process.platform]?.map(found).find(Boolean) ?? null;
}

/**
 * Returns the path of a browser: `KNOWLEDGEPULSE_BROWSER`; on Debian its package, unpacked once
 * into the cache folder; elsewhere an installed Chrome or Chromium. Null without one.
 */
export const browser = () => process.env.KNOWLEDGEPULSE_BROWSER || (unpacked() ?? installed());

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(browser() ?? "");
