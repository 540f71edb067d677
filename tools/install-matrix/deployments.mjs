/**
 * Deployments. What a tool makes, and what its documentation says to deploy beside it, is moved into an empty folder
 * and started there without sources, network and home folder. The scores must be those of the project to the bit.
 *
 * A deployment is a form, which is run by Node 24 by default. `tool` and `setting` are a row of the table in
 * docs/install.md. A project with more `packages` is only built where its `part` is asked for. `output` has the paths to
 * move, where `/.` is the contents of a folder, and `trace` the program whose files are found by nft; `file` is started in
 * the new folder. A `standalone` one runs without a runtime, and `elsewhere` starts it in another folder. A server is
 * asked for `serves` once. `again` is the source of a novelty that is 0. `refuses`: starting must fail with {@link REFUSAL}.
 */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { must, tail } from "../lib/process.mjs";
import { root as repository } from "../lib/run.mjs";
import { ROUTES, TRACES } from "./fixtures.mjs";
import { judge, SERVER_RUNTIMES } from "./forms.mjs";
import { beside, npmInstaller } from "./installers.mjs";
import { bun, entryOf, here, node, tool, toolNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const MODULES = "node_modules";
const ADDON = "scoring.linux-x64-gnu.node";
const REFUSAL = /Mark @knowledgepulse\/scoring as external/;

/** A command whose arguments are separated by spaces. */
const command = (program, args) => [...program, ...args.split(" ")];

const bundle = (row, name, build, file) => ({
	...row,
	name,
	build,
	file,
	// The manifest says that Vite's is a module.
	output: [file, "package.json", MODULES],
	on: SERVER_RUNTIMES,
});

/** The rows of the table in docs/install.md, whose settings the builds have. */
const ESBUILD = { tool: "esbuild", setting: `--external:${PACKAGE}` };
const BUN = { tool: "Bun's bundler", setting: `--target=node --external ${PACKAGE}` };
const PACK = {
	tool: "webpack, Rspack",
	setting: 'externals: /^@knowledgepulse\\//, externalsType: "commonjs"',
};
const ROLLUP = {
	tool: "Rollup, Rolldown (tsdown)",
	setting: "external: [/^@knowledgepulse\\//]",
};
/** An executable reads package.json, which leads to the entry points, only if built with this option. */
const COMPILE = {
	tool: "Bun, executable",
	setting: `--compile --compile-autoload-package-json --external ${PACKAGE}`,
};

const esbuild = [tool("esbuild/bin/esbuild")];

const esbuilt = (extension, format) => {
	const file = `out/esbuild.${extension}`;
	const args = `score.${extension} --bundle --platform=node --format=${format} ${ESBUILD.setting} --outfile=${file}`;
	return bundle(ESBUILD, `esbuild, ${format}`, command(esbuild, args), file);
};

const packed = (bundler) =>
	["mjs", "cjs"].map((extension) => {
		const build = [toolNode, join(here, "pack.mjs"), entryOf(bundler), `out/${bundler}`];
		return bundle(PACK, `${bundler}, ${extension}`, build, `out/${bundler}/score.${extension}`);
	});

/** With the addon included. */
const refused = (name, program, args, file) => ({
	name: `${name}, package included`,
	build: command(program, args),
	file,
	output: [dirname(file)],
	refuses: true,
});

const rolled = (name, program) => {
	const file = `out/${name}.mjs`;
	const args = `--config rollup.config.mjs --file ${file}`;
	return bundle(ROLLUP, name, command([toolNode, tool(program)], args), file);
};

const compiled = (row, name, entry, more) => ({
	...row,
	name: `bun build --compile${name}`,
	build: command([bun], `build ${entry} ${COMPILE.setting} --outfile=out/${entry}.compiled`),
	file: `out/${entry}.compiled`,
	output: [`out/${entry}.compiled`, MODULES],
	standalone: true,
	...more,
});

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
	build: [toolNode, "node_modules/next/dist/bin/next", "build", `--${bundler}`],
	output: [".next/standalone/."],
	file: "server.js",
	serves: "/score",
});

export const deployments = [
	esbuilt("mjs", "esm"),
	esbuilt("cjs", "cjs"),
	...["webpack", "@rspack/core"].flatMap(packed),
	rolled("Rollup", "rollup/dist/bin/rollup"),
	rolled("Rolldown", "rolldown/bin/cli.mjs"),
	bundle(
		{ tool: "Vite SSR" },
		"Vite SSR",
		command(
			[toolNode, tool("vite/bin/vite.js")],
			"build --ssr score.mjs --outDir out/vite --logLevel warn",
		),
		"out/vite/score.js",
	),
	bundle(
		BUN,
		"bun build",
		command([bun], `build score.mjs ${BUN.setting} --outfile=out/bun.mjs`),
		"out/bun.mjs",
	),
	compiled(COMPILE, "", "score.mjs"),
	compiled({}, ", started elsewhere", "compiled.cjs", { elsewhere: true }),
	{
		name: "Node.js, single executable",
		part: "node",
		tool: "Node.js, single executable",
		setting: 'createRequire(process.execPath)("@knowledgepulse/scoring")',
		build: [node(26), "--build-sea", "sea.json"],
		output: ["single", MODULES],
		file: "single",
		standalone: true,
	},
	{
		name: "file tracing",
		tool: "`@vercel/nft`: Vercel, Netlify",
		trace: "score.mjs",
		file: "score.mjs",
	},
	{
		name: "file tracing, SqliteStore",
		trace: "store.mjs",
		packages: [`${PACKAGE}-stores`],
		file: "store.mjs",
		again: "store",
	},
	{
		// The tests of the checkout have the oldest.
		name: "file tracing, SqliteStore with the newest addon",
		trace: "store.mjs",
		packages: [`${PACKAGE}-stores`, "@photostructure/sqlite@2.6.0"],
		on: ["Node 20"],
		file: "store.mjs",
		again: "store",
	},
	{
		name: "file tracing, a custom model",
		trace: "custom-traced.mjs",
		output: ["custom-model"],
		packages: ["onnxruntime-node@1.21.0"],
		file: "custom-traced.mjs",
		library: "1.21.0",
	},
	{
		name: "AWS Lambda, a container without a system",
		tool: "AWS Lambda, Cloud Run, distroless images",
		output: [MODULES, "score.mjs"],
		file: "score.mjs",
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
		build: [toolNode, "node_modules/nitropack/dist/cli/index.mjs", "build"],
		output: [".output/."],
		file: "server/index.mjs",
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
		build: [toolNode, "node_modules/astro/bin/astro.mjs", "build"],
		output: ["dist", MODULES],
		file: "dist/server/entry.mjs",
		serves: "/score",
	},
	refused(
		"esbuild",
		esbuild,
		"score.cjs --bundle --platform=node --loader:.node=copy --outfile=out/copied/score.cjs",
		"out/copied/score.cjs",
	),
	refused(
		"ncc",
		[toolNode, tool("@vercel/ncc/dist/ncc/cli.js")],
		"build score.cjs --out out/ncc",
		"out/ncc/index.cjs",
	),
	{
		...refused(
			"bun build --compile",
			[bun],
			"build score.cjs --compile --outfile=out/included/score",
			"out/included/score",
		),
		standalone: true,
	},
];

/** The installer of a deployment's project. */
const installerOf = ({ name, packages, files, setting }) =>
	packages ? beside(npmInstaller, name, packages, { files: () => files?.(setting) }) : npmInstaller;

/** Links files into a folder: copies would take gigabytes. */
const link = (from, to) => must(["cp", "--archive", "--link", "--no-target-directory", from, to]);

/** The files that the tracer of Vercel finds for a program of a project, relative to its folder. */
async function filesOf(program, folder) {
	const { nodeFileTrace } = await import(entryOf("@vercel/nft"));
	const { fileList } = await nodeFileTrace([join(folder, program)], { base: folder });
	return [...fileList];
}

/** Puts Node.js and the libraries that it and the addon need into a folder that becomes the root of the file system. */
async function addSystem(folder, project) {
	const addon = join(project, MODULES, `${PACKAGE}-linux-x64-gnu`, ADDON);
	const { stdout } = await must(["ldd", toolNode, addon]);
	for (const library of new Set(stdout.match(/\/\S+\.so[.\d]*(?= \()/g))) {
		mkdirSync(join(folder, dirname(library)), { recursive: true });
		cpSync(library, join(folder, library), { dereference: true });
	}
	cpSync(toolNode, join(folder, "node"), { dereference: true });
}

/** Starts a server, prints its first answer, and ends it. */
const ASK = `PORT=3000 HOST=127.0.0.1 HOSTNAME=127.0.0.1 "$@" >&2 &
curl --silent --show-error --fail --retry 30 --retry-connrefused --retry-delay 1 "http://127.0.0.1:3000$0"
code=$?
kill $!
exit $code`;

/** Starts a command as a user without rights in a root of its own, which is read-only and has only /proc of the system. */
const inRoot = (folder, command) => {
	const user = process.getuid() === 0 ? ["--userspec=65534:65534"] : [];
	const mount =
		'mkdir "$0/proc" && mount --bind "$0" "$0" && mount --rbind /proc "$0/proc" && ' +
		'mount -o remount,bind,ro "$0" && exec "$@"';
	return ["sh", "-c", mount, folder, "chroot", ...user, folder, ...command];
};

/** Builds a deployment and moves what it needs; returns the folder, and the one to start it in. */
async function deploy(workspace, deployment) {
	const { name, build, output = [], trace, isMinimal, elsewhere } = deployment;
	const project = await workspace.project(installerOf(deployment));
	if (build) await workspace.build(build, project);
	const id = name.replaceAll(/[^\w]+/g, "-");
	const folder = workspace.folderOf("deployed", id);
	const traced = trace ? await filesOf(trace, project.folder) : [];
	for (const path of [...traced, ...output]) {
		const to = resolve(folder, path.endsWith("/.") ? "." : path);
		mkdirSync(dirname(to), { recursive: true });
		await link(join(project.folder, path), to);
	}
	const cwd = elsewhere ? workspace.folderOf("elsewhere", id) : folder;
	writeFileSync(join(cwd, "traces.json"), TRACES);
	if (isMinimal) await addSystem(folder, project.folder);
	return { folder, cwd };
}

/** Deploys once, and starts it by a runtime. Returns what it has found. */
export async function start(workspace, deployment, runtime) {
	const { name, file, standalone, serves, isMinimal, refuses, library } = deployment;
	const deployed = await workspace.once(name, () => deploy(workspace, deployment));
	const { folder, cwd } = deployed;
	const program = resolve(isMinimal ? "/" : folder, file);
	let command = standalone ? [program] : [...runtime.layouts.node_modules, program];
	if (serves) command = ["sh", "-c", ASK, serves, ...command];
	if (isMinimal) command = inRoot(folder, ["/node", program]);
	const ended = await workspace.runMoved(command, cwd);
	const text = tail(ended.stdout + ended.stderr);
	if (refuses) {
		assert.match(ended.stderr, REFUSAL);
		return "refused, with the setting that helps";
	}
	const scores = await workspace.plainScores();
	const tolerance = library ? 2e-6 : 0;
	const problem = ended.problem ?? judge(ended.stdout, { ...deployment, scores, tolerance });
	assert.ok(!problem, `${problem}\n${text}`);
	return `scores ${scores.join(", ")}, as in the project`;
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
