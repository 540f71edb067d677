/** Checks besides the matrix. Each returns one line about what it found, or throws. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { execute, must } from "../lib/process.mjs";
import { checkScripts as checkManifest, INSTALLED_LIMIT, MAIN_LIMIT } from "../package/check.mjs";
import { checkDocumentation, filesOf } from "./deployments.mjs";
import { cliForms, judge } from "./forms.mjs";
import { cliInstallers, npmInstaller } from "./installers.mjs";
import { sdkInstallers } from "./sdk.mjs";
import { oldestNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** A run with network access would prove nothing. */
async function checkIsolation(workspace) {
	const project = await workspace.project(npmInstaller);
	const command = [
		...oldestNode.layouts.node_modules,
		"connect.mjs",
		String(workspace.registry.port),
	];
	const outside = await must(command, { cwd: project.folder });
	if (outside.stdout !== "reached\n")
		throw new Error(`the registry cannot be reached: ${outside.stdout}`);
	const inside = await workspace.run(command, project);
	if (!/^E[A-Z]+\n$/.test(inside.stdout))
		throw new Error(`a cell gets: ${inside.stdout}${inside.stderr}`);
	return `the registry's port answers outside, ${inside.stdout.trim()} in a cell (${workspace.isolated.join(" ")})`;
}

async function checkScripts(workspace) {
	const { folder } = await workspace.project(npmInstaller);
	const modules = join(folder, "node_modules");
	const files = readdirSync(modules, { recursive: true }).map((name) => join(modules, name));
	const manifests = files.filter((file) => basename(file) === "package.json");
	const found = files.filter((file) => basename(file) === "binding.gyp");
	for (const file of manifests) {
		const complaints = checkManifest(JSON.parse(readFileSync(file, "utf8")));
		found.push(...complaints.map((complaint) => `${file}: ${complaint}`));
	}
	if (manifests.length < 2) throw new Error(`only ${manifests.length} packages`);
	if (found.length > 0) throw new Error(found.join("\n"));
	return `0 lifecycle scripts and 0 binding.gyp in ${manifests.length} packages`;
}

/** The files below a folder with their lengths, which is not the space that they take on this disk. */
const filesIn = (folder) =>
	readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && entry.name !== ".package-lock.json")
		.map(({ parentPath, name }) => ({ name, size: statSync(join(parentPath, name)).size }));

const bytesIn = (folder) => filesIn(folder).reduce((sum, { size }) => sum + size, 0);

async function checkSize(workspace) {
	const { folder } = await workspace.project(npmInstaller);
	const modules = join(folder, "node_modules");
	const all = bytesIn(modules);
	const main = bytesIn(join(modules, PACKAGE));
	const largest = filesIn(modules)
		.sort((a, b) => b.size - a.size)
		.slice(0, 3)
		.map(({ name, size }) => `${name} ${megabytes(size)}`);
	const text = `${megabytes(all)} installed (${largest.join(", ")}), main package ${(main / 1e3).toFixed(1)} kB`;
	if (all > INSTALLED_LIMIT || main > MAIN_LIMIT)
		throw new Error(
			`${text}; allowed are ${megabytes(INSTALLED_LIMIT)} and ${MAIN_LIMIT / 1e3} kB`,
		);
	return text;
}

/** One addon for the platform, and none for others. */
async function checkSelection(workspace) {
	const { folder } = await workspace.project(npmInstaller);
	const scope = join(folder, "node_modules", dirname(PACKAGE));
	const names = readdirSync(scope).filter((name) => name !== basename(PACKAGE));
	if (names.length !== 1 || !existsSync(join(scope, names[0], "package.json")))
		throw new Error(`platform packages: ${names.join(", ") || "none"}`);
	return `of the platform packages, ${names[0]} alone was installed`;
}

/** The lock files of the installers. */
const LOCKS = ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"];

/** In the projects with the SDK, our package is installed in place of transformers.js. */
async function checkReplacement(workspace) {
	for (const installer of sdkInstallers) {
		const { folder } = await workspace.project(installer);
		const file = LOCKS.map((name) => join(folder, name)).find(existsSync);
		const lock = readFileSync(file, "utf8");
		if (!lock.includes(`${PACKAGE}-transformers`) || /onnxruntime-/.test(lock))
			throw new Error(`${installer.name}: ${file} names the wrong packages`);
	}
	const { folder } = await workspace.project(sdkInstallers[0]);
	const size = bytesIn(join(folder, "node_modules"));
	if (size > INSTALLED_LIMIT) throw new Error(`${megabytes(size)} installed with the SDK`);
	return `the real transformers.js is in none of ${sdkInstallers.length} lock files; ${megabytes(size)} installed by npm with the SDK`;
}

/** Without the model, the SDK works as without transformers.js. */
async function checkReplacementWithoutModel(workspace) {
	const run = async (installer, file) => {
		const project = await workspace.project(installer);
		const command = [...oldestNode.layouts.node_modules, file];
		const { problem, stdout, stderr } = await workspace.run(
			["env", "KNOWLEDGEPULSE_SCORING_EMBEDDER=off", ...command],
			project,
		);
		if (problem) throw new Error(`${file}: ${problem}\n${stderr}`);
		return JSON.parse(stdout).scores.join();
	};
	const scores = await run(npmInstaller, "score.mjs");
	for (const file of ["sdk.mjs", "sdk.cjs"]) {
		const found = await run(sdkInstallers[0], file);
		if (found !== scores) throw new Error(`${file}: scores ${found} for ${scores}`);
	}
	return `the SDK's scores are those of novelty 0.5: ${scores}`;
}

/** `npx` and similar programs, without an installation. */
async function checkExecution(workspace) {
	for (const { name, what, execute, files } of cliInstallers) {
		const id = `${name} executed`.replaceAll(/[ ,]+/g, "-");
		const { stdout, stderr } = await must(
			[...execute(`${what}@${workspace.version}`), "score", "traces.json"],
			{
				cwd: workspace.emptyProject(id, files?.(workspace.registry.url)),
				env: workspace.environment(id),
				seconds: 180,
			},
		);
		const problem = judge(stdout, cliForms[0]);
		if (problem) throw new Error(`${name}: ${problem}\n${stderr}`);
	}
	return `kp-score runs by ${cliInstallers.length} installers without being installed`;
}

/** What strace logs. */
const CALLS =
	"%network,open,openat,openat2,creat,truncate,ftruncate,mkdir,mkdirat,rmdir,unlink,unlinkat,mknod,mknodat," +
	"rename,renameat,renameat2,link,linkat,symlink,symlinkat,memfd_create,io_uring_setup";

const OPENS = /^open(at2?)?\(/;
const WRITES = /O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)/;

/** The calls in a log of strace, each without process id, result and numbers that vary. */
function callsIn(log) {
	return log
		.split("\n")
		.map((line) => line.replace(/^\d+\s+/, ""))
		.filter((line) => /^\w+\(/.test(line))
		.map((line) => line.replace(/\s*(<unfinished|\)\s*=).*$/, ""))
		.map((line) => line.replace(/0x[0-9a-f]+|\b\d+\b/g, "N"));
}

async function watch(workspace, project, args) {
	const log = join(workspace.folder, "strace.log");
	const strace = ["strace", "-f", "-qq", "-o", log, "-e", `trace=${CALLS}`];
	// Disables io_uring, which strace does not see.
	const node = ["env", "UV_USE_IO_URING=0", ...oldestNode.layouts.node_modules];
	const ended = await workspace.run([...strace, ...node, ...args], project);
	if (ended.problem) throw new Error(`${ended.problem}\n${ended.stderr}`);
	const calls = callsIn(readFileSync(log, "utf8"));
	const changing = calls.filter((call) => !OPENS.test(call) || WRITES.test(call));
	return { ...ended, calls, changing };
}

/** Returns the elements that occur more often in `calls` than in `others`. */
function beyond(calls, others) {
	const rest = [...others];
	return calls.filter((call) => {
		const at = rest.indexOf(call);
		if (at >= 0) rest.splice(at, 1);
		return at < 0;
	});
}

/** Traces the system calls of a run, which must attempt no connection and write no file. */
async function checkQuiet(workspace) {
	if ((await execute(["strace", "--version"])).problem)
		throw new Error("strace is missing: install it");
	const project = await workspace.project(npmInstaller);
	const scoring = await watch(workspace, project, ["score.mjs"]);
	const wrong = judge(scoring.stdout);
	if (wrong) throw new Error(wrong);
	if (!scoring.calls.some((call) => /model\.bin", O_RDONLY/.test(call)))
		throw new Error("the log lacks the opening of the model: it is incomplete");
	const milliseconds = Math.ceil(scoring.seconds * 1000);
	const idle = await watch(workspace, project, ["idle.mjs", `${milliseconds}`]);
	const more = beyond(scoring.changing, idle.changing);
	if (more.length > 0) throw new Error(more.join("\n"));
	return (
		`0 network calls and 0 writing calls (open, create, rename, remove) in a run of ${scoring.seconds.toFixed(1)} s on ${oldestNode.name}, ` +
		`beyond the ${idle.changing.length} that Node makes by itself; ${scoring.calls.length - scoring.changing.length} files were opened to be read`
	);
}

/** The files of the platform package that a run opens must be those that tools find in the source. */
async function checkTracing(workspace) {
	const project = await workspace.project(npmInstaller);
	const { calls } = await watch(workspace, project, ["score.mjs"]);
	const platform = `${PACKAGE}-linux-x64-gnu/`;
	const inPackage = new RegExp(`${platform}([^"]*)`);
	// Libraries of the system are looked for there too.
	const isThere = (name) => existsSync(join(project.folder, "node_modules", platform, name));
	const namesIn = (texts) => {
		const found = texts.flatMap((text) => inPackage.exec(text)?.[1] ?? []);
		return [...new Set(found)].filter(isThere).sort();
	};
	const opened = namesIn(calls);
	const traced = namesIn(await filesOf("score.mjs", project.folder));
	if (opened.join() !== traced.join())
		throw new Error(`opened: ${opened.join(", ")}; traced: ${traced.join(", ")}`);
	return `${opened.length} files of the platform package are opened, and as many traced: ${opened.join(", ")}`;
}

export const checks = [
	{ name: "documented settings", check: checkDocumentation },
	{ name: "file tracing", check: checkTracing },
	{ name: "no network in a cell", check: checkIsolation },
	{ name: "lifecycle scripts", check: checkScripts },
	{ name: "platform selection", check: checkSelection },
	{ name: "size", check: checkSize },
	{ name: "command line, not installed", check: checkExecution },
	{ name: "quiet at run time", check: checkQuiet },
	{ name: "SDK without transformers.js", check: checkReplacement },
	{
		name: "SDK without transformers.js and model",
		check: checkReplacementWithoutModel,
	},
];
