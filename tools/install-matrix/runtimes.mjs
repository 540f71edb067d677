/** What runs a program that uses the package. `command` is what comes before its file name. */
import { bun, deno, node, versionOf } from "./tools.mjs";

const nodeRuntime = (major) => ({
	name: `Node ${major}`,
	version: versionOf(`node${major}`),
	layouts: {
		node_modules: [node(major)],
		pnp: [
			...[node(major), "--require", "./.pnp.cjs"],
			...["--experimental-loader", "./.pnp.loader.mjs"],
		],
	},
});

export const runtimes = [
	...[20, 22, 24, 26].map(nodeRuntime),
	{
		name: "Bun",
		version: versionOf("@oven/bun-linux-x64-baseline"),
		layouts: { node_modules: [bun] },
	},
	{
		name: "Deno",
		version: versionOf("@deno/linux-x64-glibc"),
		layouts: {
			node_modules: [
				...[deno, "run", "--quiet", "--node-modules-dir=manual"],
				...["--no-prompt", "--allow-read", "--allow-ffi"],
			],
		},
	},
];

export const [oldestNode] = runtimes;
