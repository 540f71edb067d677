/** The installers, runtimes and bundlers, in versions that package-lock.json pins. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "node_modules");

/** A file of an installed tool. */
export const tool = (...path) => join(modules, ...path);

export const node = (major) => tool(`node${major}`, "bin/node");
export const bun = tool("@oven/bun-linux-x64-baseline/bin/bun");
export const deno = tool("@deno/linux-x64-glibc/deno");

/** Runs the tools that are written in JavaScript; Verdaccio wants 22 or later. */
export const toolNode = node(24);

export const npm = [toolNode, tool("npm/bin/npm-cli.js")];

/** The version of an installed tool. */
export function versionOf(name) {
	return JSON.parse(readFileSync(tool(name, "package.json"))).version;
}

/** Installs the tools, once for each package-lock.json. They are large: over a gigabyte. */
export function installTools() {
	const done = join(modules, ".package-lock.json");
	const lock = join(here, "package-lock.json");
	if (existsSync(done) && statSync(done).mtimeMs >= statSync(lock).mtimeMs)
		return;
	console.log("tools: installing them, 1.2 GB, once");
	const { error, status } = spawnSync(
		"npm",
		["ci", "--no-audit", "--no-fund", "--loglevel=error"],
		{ cwd: here, stdio: "inherit" },
	);
	if (error || status !== 0)
		throw new Error(`npm ci failed: ${error?.message ?? status}`);
}
