/**
 * The installers, runtimes and bundlers, in versions that package-lock.json pins. Importing this
 * module installs them, once for each package-lock.json: they take over a gigabyte.
 */
import { copyFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fingerprint, once } from "../lib/cache.mjs";
import { npm as runNpm } from "../lib/run.mjs";

export const here = dirname(fileURLToPath(import.meta.url));

const FILES = ["package.json", "package-lock.json", ".npmrc"];

function install(folder) {
	console.log("tools: installing 1.3 GB, once");
	for (const file of FILES) copyFileSync(join(here, file), join(folder, file));
	runNpm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
}

const installed = once(`install-matrix-${fingerprint(join(here, "package-lock.json"))}`, install);

/** A file of an installed tool. */
export const tool = (...path) => join(installed, "node_modules", ...path);

/** Imports the module of an installed tool. */
export const entryOf = createRequire(tool("package.json")).resolve;

export const node = (major) => tool(`node${major}`, "bin/node");
export const bun = tool("@oven/bun-linux-x64-baseline/bin/bun");
export const deno = tool("@deno/linux-x64-glibc/deno");

/** Runs the tools that are written in JavaScript; Verdaccio needs 22 or later. */
export const toolNode = node(24);

export const npm = [toolNode, tool("npm/bin/npm-cli.js")];

const nodeRuntime = (major) => ({
	name: `Node ${major}`,
	layouts: {
		node_modules: [node(major)],
		pnp: [node(major), "--require", "./.pnp.cjs", "--experimental-loader", "./.pnp.loader.mjs"],
	},
});

const DENO_OPTIONS = "run --quiet --node-modules-dir=manual --no-prompt --allow-read --allow-ffi";

/** Runtimes. `layouts` has the command before a file name, by the layout of an installer. */
export const runtimes = [
	...[20, 22, 24, 26].map(nodeRuntime),
	{
		name: "Bun",
		layouts: { node_modules: [bun] },
	},
	{
		name: "Deno",
		layouts: { node_modules: [deno, ...DENO_OPTIONS.split(" ")] },
	},
];

export const [oldestNode] = runtimes;
