/**
 * Failed installs: loading throws an error whose advice must help when followed. What the error names is tested in
 * __test__/package, scores without a model in __test__/embedder.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { must, tail } from "../lib/process.mjs";
import { judge } from "./forms.mjs";
import { npmInstaller } from "./installers.mjs";
import { npm, runtimes, toolNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const PLATFORM = `${PACKAGE}-linux-x64-gnu`;
const NODE_MODULES = runtimes.filter(({ layouts }) => layouts.node_modules);

const platformFolder = ({ folder }) => join(folder, "node_modules", PLATFORM);

async function run(workspace, project, runtime, file) {
	const ended = await workspace.run([...runtime.layouts.node_modules, file], project);
	const problem =
		ended.problem && `${runtime.name}: ${ended.problem}\n${tail(ended.stdout + ended.stderr)}`;
	return { ...ended, problem };
}

/**
 * A defect of Node 20: it throws an error of a CommonJS module a second time, after it was caught from the `import()` of
 * an ES module that imports it.
 */
const THROWS_TWICE = "Node 20";

/** Returns the report of explain.mjs on loading in a project. */
async function explain(workspace, project, runtime) {
	const ended = await run(workspace, project, runtime, "explain.mjs");
	let reported;
	try {
		reported = JSON.parse(ended.stdout);
	} catch {
		throw new Error(ended.problem ?? `not a report: ${ended.stdout}`);
	}
	if (ended.problem && !(reported.code && runtime.name === THROWS_TWICE))
		throw new Error(ended.problem);
	return reported;
}

/** The arguments of the last `npm install` in a message. */
function advice(message) {
	const [, rest] = /.*npm install ([^\n]*)/s.exec(message) ?? [];
	if (!rest) throw new Error(`no command in: ${message}`);
	return rest
		.replace(/[`'"]|[.,;]\s*$/g, "")
		.trim()
		.split(/\s+/);
}

/** Installs without the platform package: loading must fail, and scoring must work after the advised command. */
async function failAndRepair(workspace) {
	const id = "without-optional";
	const project = { id, folder: workspace.emptyProject(id) };
	const options = { cwd: project.folder, env: workspace.environment(id), seconds: 180 };
	const install = (...args) => must([...npm, "install", ...args], options);
	await install("--omit=optional", `${PACKAGE}@${workspace.version}`);
	if (existsSync(platformFolder(project))) throw new Error("the platform package is there");
	let args;
	for (const runtime of NODE_MODULES) {
		const { code, message } = await explain(workspace, project, runtime);
		if (code !== "ADDON_NOT_FOUND" || !message.includes(PLATFORM))
			throw new Error(`${runtime.name}: ${code}: ${message}`);
		args = advice(message);
	}
	const command = `npm install ${args.join(" ")}`;
	await install(...args);
	for (const runtime of NODE_MODULES) {
		const ended = await run(workspace, project, runtime, "score.mjs");
		const wrong = ended.problem ?? judge(ended.stdout);
		if (wrong) throw new Error(`after ${command}, ${runtime.name}: ${wrong}`);
	}
	return `ADDON_NOT_FOUND on ${NODE_MODULES.length} runtimes, repaired by \`${command}\``;
}

const deno = runtimes.find(({ name }) => name === "Deno").layouts.node_modules;

/** Commands in which the addon may not be loaded, and what the error names. */
const FORBIDDEN = [
	{
		name: "Deno without --allow-ffi",
		command: () => deno.filter((option) => option !== "--allow-ffi"),
		named: "--allow-ffi",
	},
	{
		name: "file system with noexec",
		command: (project) => [
			...["unshare", "-m", "sh", "-c"],
			'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0" && exec "$@"',
			platformFolder(project),
			toolNode,
		],
		named: "noexec",
	},
];

async function explainForbidden(workspace, { name, command, named }) {
	const project = await workspace.project(npmInstaller);
	const runtime = { name, layouts: { node_modules: command(project) } };
	const { code, message } = await explain(workspace, project, runtime);
	if (code !== "ADDON_NOT_FOUND" || !message.includes(named) || message.includes("npm install"))
		throw new Error(`${code}: ${message}`);
	return message.replaceAll(platformFolder(project), "…").replaceAll("\n", " ");
}

export const failures = [
	...FORBIDDEN.map((forbidden) => ({
		name: forbidden.name,
		check: (workspace) => explainForbidden(workspace, forbidden),
	})),
	{ name: "installed with --omit=optional", check: failAndRepair },
];
