/**
 * What installs the package, or `what` depends on it. Lifecycle scripts are off, because the package has
 * to work without them. `execute` runs the program of a package that is not installed.
 * `files` are written into the empty project, `env` is added to the environment. `overriding` gives the
 * files of a project that has a manifest with `name` as `spec` among its dependencies, and in which others
 * that ask for `name` get it too; `installAll` installs that.
 */
import { bun, npm, tool, toolNode } from "./tools.mjs";

const json = (value) => JSON.stringify(value, null, "\t");

/** For an override in a field of package.json. */
const overridingIn = (field) => (manifest, name, spec) => ({
	"package.json": json({ ...manifest, [field]: { [name]: spec } }),
});

const yarnCommand = [toolNode, tool("@yarnpkg/cli-dist/bin/yarn.js")];
const pnpm = tool("@pnpm/exe.linux-x64/pnpm");
/** Accepts packages published a second ago. */
const YOUNG = "minimumReleaseAge: 0\n";

const yarn = (nodeLinker) => ({
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
			// Accepts packages published a second ago.
			npmMinimalAgeGate: 0,
		}),
	}),
	install: (spec) => [...yarnCommand, "add", spec],
	execute: (spec) => [...yarnCommand, "dlx", "--quiet", spec],
	overriding: overridingIn("resolutions"),
	installAll: [...yarnCommand, "install"],
});

export const installers = [
	{
		name: "npm",
		layout: "node_modules",
		install: (spec) => [...npm, "install", spec],
		execute: (spec) => [...npm, "exec", "--yes", "--", spec],
		// npm refuses an override that differs from the project's own dependency.
		overriding: (manifest, name) => overridingIn("overrides")(manifest, name, `$${name}`),
		installAll: [...npm, "install"],
	},
	{
		name: "pnpm",
		layout: "node_modules",
		files: () => ({ "pnpm-workspace.yaml": YOUNG }),
		install: (spec) => [pnpm, "add", spec, "--ignore-scripts"],
		execute: (spec) => [pnpm, "dlx", spec],
		overriding: (manifest, name, spec) => ({
			"package.json": json(manifest),
			"pnpm-workspace.yaml": `${YOUNG}overrides:\n  "${name}": "${spec}"\n`,
		}),
		installAll: [pnpm, "install", "--ignore-scripts"],
	},
	{ name: "Yarn", layout: "node_modules", ...yarn("node-modules") },
	{ name: "Yarn PnP", layout: "pnp", ...yarn("pnp") },
	{
		name: "Bun",
		layout: "node_modules",
		install: (spec) => [bun, "add", spec, "--ignore-scripts"],
		execute: (spec) => [bun, "x", spec],
		overriding: overridingIn("overrides"),
		installAll: [bun, "install", "--ignore-scripts"],
	},
];

export const npmInstaller = installers[0];

/** The installers, each with a project that has the command line. */
export const cliInstallers = installers.map((installer) => ({
	...installer,
	name: `${installer.name}, command line`,
	what: "@knowledgepulse/scoring-cli",
}));

/**
 * Frameworks of agents, each installed beside the package in a project of its own. fixtures/frameworks.mjs runs an
 * agent with one of them, looks for the calls of tools in its messages, and scores it with its recipe.
 */
const FRAMEWORKS = {
	"AI SDK 6": ["ai@6.0.326"],
	"AI SDK 7": ["ai@7.0.173"],
	Mastra: ["@mastra/core@1.71.0", "ai@6.0.326"],
	"OpenAI Agents": ["@openai/agents-core@0.20.0"],
	LangGraph: ["@langchain/core@1.4.0", "@langchain/langgraph@1.7.3"],
};

/** Describes the inputs of tools to all of them. */
const ZOD = "zod@4.6.7";

export const frameworks = Object.entries(FRAMEWORKS).map(([name, packages]) => ({
	name: `messages of ${name}`,
	installer: {
		...npmInstaller,
		name: `npm, ${name}`,
		install: (spec) => [...npmInstaller.install(spec), ...packages, ZOD],
	},
	form: { name: "messages", file: "frameworks.mjs", args: [name], on: ["Node 22"] },
}));
