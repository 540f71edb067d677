/**
 * Failed installs: loading throws an error whose advice must help when followed. The tests of the checkout remove and
 * damage the model and the library.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must, tail } from "../lib/process.mjs";
import { judge } from "./forms.mjs";
import { npmInstaller } from "./installers.mjs";
import { npm, runtimes, toolNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const PLATFORM = `${PACKAGE}-linux-x64-gnu`;

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

/** Returns the code and the message with which loading fails in a project, as load.mjs reports them. */
async function explain(workspace, project, runtime) {
	const ended = await run(workspace, project, runtime, "load.mjs");
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

/** Installs with `breakIt`: loading must fail, and scoring must work after the advised command. */
async function failAndRepair(workspace, id, breakIt) {
	const project = { id, folder: workspace.emptyProject(id) };
	const options = { cwd: project.folder, env: workspace.environment(id), seconds: 180 };
	const install = (...args) => must([...npm, "install", ...args], options);
	await breakIt(install, project, `${PACKAGE}@${workspace.version}`);
	if (existsSync(platformFolder(project))) throw new Error("the platform package is there");
	let args;
	for (const runtime of runtimes) {
		const { code, message } = await explain(workspace, project, runtime);
		if (code !== "ADDON_NOT_FOUND" || !message.includes(PLATFORM))
			throw new Error(`${runtime.name}: ${code}: ${message}`);
		args = advice(message);
	}
	const command = `npm install ${args.join(" ")}`;
	await install(...args);
	for (const runtime of runtimes) {
		const ended = await run(workspace, project, runtime, "score.mjs");
		const wrong = ended.problem ?? judge(ended.stdout);
		if (wrong) throw new Error(`after ${command}, ${runtime.name}: ${wrong}`);
	}
	return `ADDON_NOT_FOUND on ${runtimes.length} runtimes, repaired by \`${command}\``;
}

const missing = [
	{
		name: "installed with --omit=optional",
		breakIt: (install, _, spec) => install("--omit=optional", spec),
	},
	{
		name: "installed for another platform",
		breakIt: (install, _, spec) => install("--os=linux", "--cpu=arm64", spec),
	},
	{
		name: "platform package removed",
		breakIt: async (install, project, spec) => {
			await install(spec);
			rmSync(platformFolder(project), { recursive: true });
		},
	},
	{
		name: "platform package renamed",
		breakIt: async (install, project, spec) => {
			await install(spec);
			const folder = platformFolder(project);
			renameSync(folder, folder.replace("x64-gnu", "arm64-gnu"));
		},
	},
];

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
	...missing.map(({ name, breakIt }) => ({
		name,
		check: (workspace) => failAndRepair(workspace, name.replaceAll(/[ =-]+/g, "-"), breakIt),
	})),
];
