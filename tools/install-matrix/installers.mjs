/**
 * What installs the package, or `what` depends on it. Lifecycle scripts are off, because the package has
 * to work without them. `execute` runs the program of a package that is not installed.
 * `files` are written into the empty project. `overriding` gives the files of a project that has a manifest with `name` as `spec` among its dependencies, and in which others
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

/** An installer whose project has more packages. */
export const beside = (installer, name, packages, more) => ({
	...installer,
	name: `${installer.name}, ${name}`,
	install: (spec) => [...installer.install(spec), ...packages],
	...more,
});

/** The oldest version of onnxruntime-node, that of transformers.js 3, and the newest. */
const RUNTIMES = ["1.17.0", "1.21.0", "1.30.0"];

/** The installers, each with a project that also has a version of onnxruntime-node, by which custom.mjs scores. */
export const onnxRuntimes = installers.flatMap((installer) =>
	RUNTIMES.map((library) => ({
		installer: beside(installer, `onnxruntime-node ${library}`, [`onnxruntime-node@${library}`]),
		form: { name: "a custom model", file: "custom.mjs", library },
	})),
);

/**
 * Frameworks of agents: the recipe and the packages of each, installed beside the package in a project of its own,
 * which compiles the recipe. fixtures/frameworks.mjs runs an agent with one of them, looks for the calls of tools in
 * its messages, and scores it with its recipe. Zod describes the inputs of tools to all of them.
 */
const FRAMEWORKS = {
	"AI SDK 6": ["ai-sdk", "ai@6.0.326"],
	"AI SDK 7": ["ai-sdk", "ai@7.0.173"],
	Mastra: ["mastra", "@mastra/core@1.71.0", "ai@6.0.326"],
	"OpenAI Agents": ["openai-agents", "@openai/agents-core@0.20.0"],
	LangGraph: ["langchain", "@langchain/core@1.4.0", "@langchain/langgraph@1.7.3"],
};

const TSC =
	"--strict --exactOptionalPropertyTypes --noEmit --module nodenext --target es2022 --skipLibCheck";

export const frameworks = Object.entries(FRAMEWORKS).map(([name, [recipe, ...packages]]) => ({
	installer: beside(npmInstaller, name, [...packages, "zod@4.6.7"]),
	form: {
		name: "messages",
		build: [toolNode, tool("typescript/bin/tsc"), ...TSC.split(" "), `recipes/${recipe}.ts`],
		file: "frameworks.mjs",
		args: [name],
		on: ["Node 22"],
	},
}));

const OLD_API = ["@opentelemetry/api@1.9.0", "@opentelemetry/api-logs@0.203.0"];
const NEW_LOGS = "@opentelemetry/api-logs@0.223.1";
const SDK_3 = ["@opentelemetry/sdk-trace@3.1.1", "@opentelemetry/api@1.10.0"];

/**
 * The lowest and the newest trace SDK of each major version, with a Logs API, which is the last one.
 * fixtures/telemetry.mjs scores a run of agents with them.
 */
const TELEMETRY = [
	["@opentelemetry/sdk-trace-base@1.25.0", ...OLD_API],
	["@opentelemetry/sdk-trace-base@1.30.1", ...OLD_API],
	["@opentelemetry/sdk-trace-base@2.0.0", ...OLD_API],
	["@opentelemetry/sdk-trace-base@2.12.1", "@opentelemetry/api@1.9.1", NEW_LOGS],
	SDK_3,
	[...SDK_3, NEW_LOGS],
];

const withoutVersion = (spec) => spec.slice(0, spec.lastIndexOf("@"));

export const telemetry = TELEMETRY.map((packages) => {
	const [sdk, logs] = [packages[0], packages.at(-1)];
	const name = `${sdk} and ${logs}`.replaceAll("@opentelemetry/", "");
	return {
		installer: beside(npmInstaller, name, packages, { what: "@knowledgepulse/scoring-otel" }),
		form: {
			name: "spans",
			file: "telemetry.mjs",
			args: [sdk, logs].map(withoutVersion),
			// Version 3 needs Node 22.15.
			on: [packages.includes(SDK_3[0]) ? "Node 22" : "Node 20", "Node 26"],
		},
	};
});
