/**
 * Deployments. What a tool makes, and what its documentation says to deploy beside it, is moved into an empty folder
 * and started there without sources, network and home folder. The scores must be those of the project to the bit.
 *
 * `tool` and `setting` are a row of the table in docs/install.md. A project with more `packages` is only built
 * where its `part` is asked for. `build` gives the commands, `output` the paths to move, where `/.` is the
 * contents of a folder, and `trace` the program whose files are found by nft; `start` is the command in the new
 * folder. A server is asked for `serves` once. `again` is the source of a novelty that is 0. `refuses`: starting must fail with {@link REFUSAL}.
 * `library` is the version of ONNX Runtime by which it scores.
 * All are started beside files of somebody else, which must not be used.
 */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { must, tail } from "../lib/process.mjs";
import { root as repository } from "../lib/run.mjs";
import { ROUTES, TRACES } from "./fixtures.mjs";
import { bundleForms, judge } from "./forms.mjs";
import { npmInstaller } from "./installers.mjs";
import { bun, entryOf, here, node, tool, toolNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const BUILD_SECONDS = 540;
const MODULES = "node_modules";
const ADDON = "scoring.linux-x64-gnu.node";
const REFUSAL = /Mark @knowledgepulse\/scoring as external/;

const next = (bundler) => ({
	name: `Next.js, ${bundler}`,
	part: "next",
	tool: 'Next.js, also `output: "standalone"`',
	setting: `serverExternalPackages: ["${PACKAGE}"]`,
	packages: ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"],
	files: (setting) => ({
		"next.config.mjs": `export default { output: "standalone", ${setting} };\n`,
		"app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;\n",
		"app/score/route.js": ROUTES.next,
	}),
	build: [[toolNode, "node_modules/next/dist/bin/next", "build", `--${bundler}`]],
	output: [".next/standalone/."],
	start: ["server.js"],
	serves: "/score",
});

const rollup = (name, program) => {
	const bundle = `out/${name}.mjs`;
	return {
		name,
		tool: "Rollup, Rolldown (tsdown)",
		setting: "external: [/^@knowledgepulse\\//]",
		build: [[toolNode, tool(program), "--config", "rollup.config.mjs", "--file", bundle]],
		output: [bundle, MODULES],
		start: [bundle],
	};
};

/** The bundles of the forms, and what is not one. */
export const deployments = [
	...bundleForms
		.filter(({ name }) => !name.endsWith(", CJS"))
		.map(({ build, file, standalone, ...form }) => ({
			...form,
			build: [build.command],
			output: [file, MODULES],
			start: [file],
			runtime: standalone ? [] : undefined,
		})),
	rollup("Rollup", "rollup/dist/bin/rollup"),
	rollup("Rolldown", "rolldown/bin/cli.mjs"),
	{
		name: "Node.js, single executable",
		part: "node",
		tool: "Node.js, single executable",
		setting: 'createRequire(process.execPath)("@knowledgepulse/scoring")',
		build: [[node(26), "--build-sea", "sea.json"]],
		output: ["single", MODULES],
		start: ["single"],
		runtime: [],
	},
	{
		name: "file tracing",
		tool: "`@vercel/nft`: Vercel, Netlify",
		trace: "logs.mjs",
		start: ["logs.mjs"],
	},
	{
		name: "file tracing, SqliteStore",
		trace: "store.mjs",
		packages: [`${PACKAGE}-stores`],
		start: ["store.mjs"],
		again: "store",
	},
	{
		// The tests of the checkout have the oldest.
		name: "file tracing, SqliteStore with the newest addon",
		trace: "store.mjs",
		packages: [`${PACKAGE}-stores`, "@photostructure/sqlite@2.6.0"],
		runtime: [node(20)],
		start: ["store.mjs"],
		again: "store",
	},
	{
		name: "file tracing, a custom model",
		trace: "custom-traced.mjs",
		output: ["custom-model"],
		packages: ["onnxruntime-node@1.21.0"],
		start: ["custom-traced.mjs"],
		library: "1.21.0",
	},
	{
		name: "AWS Lambda, a container without a system",
		tool: "AWS Lambda, Cloud Run, distroless images",
		output: [MODULES, "logs.mjs"],
		start: ["logs.mjs"],
		isMinimal: true,
	},
	...["turbopack", "webpack"].map(next),
	{
		name: "Nitro",
		part: "nitro",
		tool: "Nitro",
		packages: ["nitropack@2.13.6"],
		files: () => ({
			"nitro.config.mjs": 'export default { compatibilityDate: "2026-01-01" };\n',
			"routes/score.mjs": ROUTES.nitro,
		}),
		build: [[toolNode, "node_modules/nitropack/dist/cli/index.mjs", "build"]],
		output: [".output/."],
		start: ["server/index.mjs"],
		serves: "/score",
	},
	{
		name: "Astro",
		part: "astro",
		tool: "Astro with the Node adapter",
		packages: ["astro@7.3.5", "@astrojs/node@11.1.6"],
		files: () => ({
			"astro.config.mjs": `import node from "@astrojs/node";
export default { output: "server", adapter: node({ mode: "standalone" }) };\n`,
			"src/pages/score.js": ROUTES.astro,
		}),
		build: [[toolNode, "node_modules/astro/bin/astro.mjs", "build"]],
		output: ["dist", MODULES],
		start: ["dist/server/entry.mjs"],
		serves: "/score",
	},
	{
		name: "esbuild, addon copied",
		build: [
			[
				tool("esbuild/bin/esbuild"),
				..."logs.cjs --bundle --platform=node --loader:.node=copy --outfile=out/copied/logs.cjs".split(
					" ",
				),
			],
		],
		output: ["out/copied"],
		start: ["out/copied/logs.cjs"],
		refuses: true,
	},
	{
		name: "ncc",
		build: [
			[toolNode, tool("@vercel/ncc/dist/ncc/cli.js"), "build", "logs.cjs", "--out", "out/ncc"],
		],
		output: ["out/ncc"],
		start: ["out/ncc/index.cjs"],
		refuses: true,
	},
	{
		name: "bun build --compile, addon included",
		build: [[bun, ..."build logs.cjs --compile --outfile=out/included".split(" ")]],
		output: ["out/included"],
		start: ["out/included"],
		runtime: [],
		refuses: true,
	},
];

/** The installer of a deployment's project. */
const installerOf = ({ name, packages, files, setting }) =>
	packages || files
		? {
				...npmInstaller,
				name: `npm, ${name}`,
				files: () => files?.(setting) ?? {},
				install: (spec) => [...npmInstaller.install(spec), ...packages],
			}
		: npmInstaller;

/** Links files into a folder: copies would take gigabytes. */
const link = (from, to) => must(["cp", "--archive", "--link", "--no-target-directory", from, to]);

/** The files that the tracer of Vercel finds for a program of a project, relative to its folder. */
export async function filesOf(program, folder) {
	const { nodeFileTrace } = await import(entryOf("@vercel/nft"));
	const { fileList } = await nodeFileTrace([join(folder, program)], { base: folder });
	return [...fileList];
}

/** The libraries that native files need, with paths. */
async function librariesOf(files) {
	const { stdout } = await must(["ldd", ...files]);
	return new Set(stdout.match(/\/\S+\.so[.\d]*(?= \()/g));
}

/** Puts Node.js and the libraries that it and the addon need into a folder that becomes the root of the file system. */
async function addSystem(folder, project) {
	const addon = join(project, MODULES, `${PACKAGE}-linux-x64-gnu`, ADDON);
	for (const library of await librariesOf([toolNode, addon])) {
		mkdirSync(join(folder, dirname(library)), { recursive: true });
		cpSync(library, join(folder, library), { dereference: true });
	}
	cpSync(toolNode, join(folder, "node"), { dereference: true });
}

/**
 * Puts files with the names of the addon and its model into a working directory. That addon ends the process when it is
 * loaded, and the model cannot be read.
 */
async function plant(folder) {
	const source = join(folder, "planted.c");
	writeFileSync(
		source,
		"#include <unistd.h>\n__attribute__((constructor)) static void run(void) { _exit(97); }\n",
	);
	await must(["cc", "-shared", "-fPIC", source, "-o", join(folder, ADDON)]);
	mkdirSync(join(folder, "model"), { recursive: true });
	writeFileSync(join(folder, "model/manifest.json"), "{}");
}

/** Starts a command as a user without rights in a root of its own, which is read-only and has only /proc of the system. */
const inRoot = (folder, command) => {
	const user = process.getuid() === 0 ? ["--userspec=65534:65534"] : [];
	const mount =
		'mkdir "$0/proc" && mount --bind "$0" "$0" && mount --rbind /proc "$0/proc" && ' +
		'mount -o remount,bind,ro "$0" && exec "$@"';
	return ["sh", "-c", mount, folder, "chroot", ...user, folder, ...command];
};

/** Moves what a deployment needs; returns the folder. */
async function move(workspace, { name, output = [], trace, isMinimal }, project) {
	const folder = workspace.deployed(name.replaceAll(/[^\w]+/g, "-"));
	const traced = trace ? await filesOf(trace, project) : [];
	for (const path of [...traced, ...output]) {
		const to = resolve(folder, path.endsWith("/.") ? "." : path);
		mkdirSync(dirname(to), { recursive: true });
		await link(join(project, path), to);
	}
	writeFileSync(join(folder, "traces.json"), TRACES);
	if (isMinimal) await addSystem(folder, project);
	return folder;
}

/** Builds, moves and starts a deployment; `plain` is the output of the program in a project. */
export async function deploy(workspace, deployment) {
	const {
		build = [],
		start,
		runtime = [toolNode],
		serves,
		isMinimal,
		elsewhere,
		refuses,
		library,
		again = library ? undefined : "cache",
	} = deployment;
	const project = await workspace.project(installerOf(deployment));
	for (const given of build) {
		const command = typeof given === "function" ? given(project.folder) : given;
		await must(command, { cwd: project.folder, env: project.env, seconds: BUILD_SECONDS });
	}
	const folder = await move(workspace, deployment, project.folder);
	const file = resolve(isMinimal ? "/" : folder, start[0]);
	let command = [...(isMinimal ? ["/node"] : runtime), file];
	if (serves) command = [toolNode, join(here, "ask.mjs"), serves, ...command];
	if (isMinimal) command = inRoot(folder, command);
	const cwd = elsewhere ? workspace.elsewhere() : folder;
	await plant(cwd);
	const ended = await workspace.runMoved(command, cwd);
	const text = tail(ended.stdout + ended.stderr);
	if (refuses) {
		assert.match(ended.stderr, REFUSAL);
		return "refused, with the setting that helps";
	}
	assert.ok(!ended.problem, `${ended.problem}\n${text}`);
	const plain = await workspace.plainScores();
	const tolerance = library ? 2e-6 : 0;
	const problem = judge(ended.stdout, { scores: plain, tolerance, again, library });
	assert.ok(!problem, `${problem}\n${text}`);
	return `scores ${plain.join(", ")}, as in the project`;
}

/** The rows of the table in docs/install.md must be those of the deployments. */
export function checkDocumentation() {
	const docs = readFileSync(join(repository, "docs/install.md"), "utf8");
	const rows = deployments
		.filter(({ tool }) => tool)
		.map(({ tool, setting }) => `| ${tool} | ${setting ? `\`${setting}\`` : "none"} |`);
	const missing = new Set(rows.filter((row) => !docs.includes(row)));
	if (missing.size > 0) throw new Error(`docs/install.md lacks:\n${[...missing].join("\n")}`);
	return `${new Set(rows).size} rows of settings are documented as tried`;
}
