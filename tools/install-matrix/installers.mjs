/**
 * What installs the package. Lifecycle scripts are off, because the package has to work without them.
 * `files` are written into the empty project, `env` is added to the environment.
 */
import { bun, npm, tool, toolNode, versionOf } from "./tools.mjs";

const yarn = (nodeLinker) => ({
	version: versionOf("@yarnpkg/cli-dist"),
	files: (url) => ({
		// Makes the folder a project of its own.
		"yarn.lock": "",
		".yarnrc.yml": JSON.stringify({
			nodeLinker,
			npmRegistryServer: url,
			unsafeHttpWhitelist: ["127.0.0.1"],
			enableScripts: false,
			enableTelemetry: false,
			enableImmutableInstalls: false,
			enableGlobalCache: false,
			// The package was published a second ago.
			npmMinimalAgeGate: 0,
		}),
	}),
	install: (spec) => [
		...[toolNode, tool("@yarnpkg/cli-dist/bin/yarn.js")],
		...["add", spec],
	],
});

export const installers = [
	{
		name: "npm",
		version: versionOf("npm"),
		layout: "node_modules",
		install: (spec) => [...npm, "install", spec],
	},
	{
		name: "pnpm",
		version: versionOf("@pnpm/exe.linux-x64"),
		layout: "node_modules",
		files: () => ({ "pnpm-workspace.yaml": "minimumReleaseAge: 0\n" }),
		install: (spec) => [
			...[tool("@pnpm/exe.linux-x64/pnpm"), "add", spec],
			"--ignore-scripts",
		],
	},
	{ name: "Yarn", layout: "node_modules", ...yarn("node-modules") },
	{ name: "Yarn PnP", layout: "pnp", ...yarn("pnp") },
	{
		name: "Bun",
		version: versionOf("@oven/bun-linux-x64-baseline"),
		layout: "node_modules",
		install: (spec) => [bun, "add", spec, "--ignore-scripts"],
	},
];

export const npmInstaller = installers[0];
