/** Checks besides the matrix. Each returns one line about what it found, or throws. */
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { host } from "../lib/build.mjs";
import { must } from "../lib/process.mjs";
import { root } from "../lib/run.mjs";
import { checkDocumentation } from "./deployments.mjs";
import { cliForm, judge } from "./forms.mjs";
import { cliInstallers, npmInstaller, onnxRuntimes } from "./installers.mjs";
import { sdkInstallers } from "./sdk.mjs";
import { npm, oldestNode, runtimes, toolNode } from "./tools.mjs";
import { PACKAGE } from "./workspace.mjs";

const withModules = runtimes.filter(({ layouts }) => layouts.node_modules);

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

/** In the projects with the SDK, our package is installed in place of transformers.js, and not beside it. */
async function checkReplacement(workspace) {
	for (const installer of sdkInstallers) {
		const { folder } = await workspace.project(installer);
		const file = LOCKS.map((name) => join(folder, name)).find(existsSync);
		const lock = readFileSync(file, "utf8");
		if (!lock.includes(`${PACKAGE}-transformers`) || /onnxruntime-web/.test(lock))
			throw new Error(`${installer.name}: ${file} names the wrong packages`);
	}
	return `the real transformers.js is in none of ${sdkInstallers.length} lock files`;
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
		const problem = judge(stdout, cliForm);
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

/** Traces the system calls of a run, which must attempt no connection, write no file, and open nothing of ONNX Runtime. */
async function checkQuiet(workspace) {
	const project = await workspace.project(onnxRuntimes[0].installer);
	const scoring = await watch(workspace, project, ["score.mjs"]);
	const wrong = judge(scoring.stdout);
	if (wrong) throw new Error(wrong);
	if (!scoring.calls.some((call) => /model\.bin", O_RDONLY/.test(call)))
		throw new Error("the log lacks the opening of the model: it is incomplete");
	const runtime = scoring.calls.filter((call) => /node_modules\/onnxruntime|libonnx/.test(call));
	const milliseconds = Math.ceil(scoring.seconds * 1000);
	const idle = await watch(workspace, project, ["idle.mjs", `${milliseconds}`]);
	const more = [...beyond(scoring.changing, idle.changing), ...runtime];
	if (more.length > 0) throw new Error(more.join("\n"));
	return (
		`0 network calls and 0 writing calls (open, create, rename, remove) in a run of ${scoring.seconds.toFixed(1)} s on ${oldestNode.name}, ` +
		`beyond the ${idle.changing.length} that Node makes by itself; ${scoring.calls.length - scoring.changing.length} files were opened to be read`
	);
}

/** The line of the README that packs a clone and installs it, in a project that has the clone as `scoring`. */
async function checkClone(workspace) {
	if (!existsSync(join(root, "target", host() ?? "", "dist"))) return "packed on another machine";
	const readme = readFileSync(join(root, "README.md"), "utf8");
	const [line] = /^\(cd scoring .*$/m.exec(readme);
	const [, code] = /^```js\n([\s\S]*?)^```/m.exec(readme);
	const cwd = workspace.folderOf("clone");
	symlinkSync(root, join(cwd, "scoring"));
	writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
	// The addon that .ci/run has built.
	const profile = { CARGO_PROFILE_DIST_LTO: "thin", CARGO_PROFILE_DIST_CODEGEN_UNITS: "4" };
	await must(["bash", "-c", line], { cwd, env: { ...process.env, ...profile }, seconds: 1200 });
	writeFileSync(join(cwd, "readme.mjs"), `${code}console.log(score.toFixed(2));\n`);
	const scored = await must([process.execPath, "readme.mjs"], { cwd });
	const expected = /; \/\/ (0\.\d\d)$/m.exec(code)[1];
	if (scored.stdout.trim() !== expected)
		throw new Error(`README says ${expected}, found ${scored.stdout}`);
	const cli = await must(["npx", "@knowledgepulse/scoring-cli", "--version"], { cwd });
	return `scores ${expected} as the README says; kp-score ${cli.stdout.trim()}`;
}

/** The error with which loading fails in a project. */
async function explain(workspace, project, command) {
	const { stdout, stderr } = await workspace.run([...command, "explain.cjs"], project);
	if (!stdout.startsWith('{"code":"ADDON_NOT_FOUND"')) throw new Error(stdout + stderr);
	return JSON.parse(stdout).message;
}

/** Without the platform package, loading fails, and scoring works after the advised command. */
async function checkAdvice(workspace) {
	const project = await workspace.project({
		name: "npm without optional dependencies",
		install: (spec) => [...npm, "install", "--omit=optional", spec],
	});
	let advice;
	for (const { layouts } of withModules)
		advice = /npm install (@\S+\d)/.exec(
			await explain(workspace, project, layouts.node_modules),
		)[1];
	await must([...npm, "install", advice], { cwd: project.folder, env: project.env, seconds: 180 });
	for (const { name, layouts } of withModules) {
		const { stdout, stderr } = await workspace.run([...layouts.node_modules, "score.mjs"], project);
		const wrong = judge(stdout);
		if (wrong) throw new Error(`after npm install ${advice}, ${name}: ${wrong}\n${stderr}`);
	}
	return `ADDON_NOT_FOUND on ${withModules.length} runtimes, repaired by \`npm install ${advice}\``;
}

/** Where the addon may not be loaded, the error names why. */
async function checkForbidden(workspace) {
	const project = await workspace.project(npmInstaller);
	const deno = runtimes.find(({ name }) => name === "Deno").layouts.node_modules;
	const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0" && exec "$@"';
	const folder = join(project.folder, "node_modules", `${PACKAGE}-linux-x64-gnu`);
	const commands = {
		"--allow-ffi": deno.filter((option) => option !== "--allow-ffi"),
		noexec: ["unshare", "-m", "sh", "-c", mount, folder, toolNode],
	};
	for (const [reason, command] of Object.entries(commands)) {
		const message = await explain(workspace, project, command);
		if (!message.includes(reason) || message.includes("npm install")) throw new Error(message);
	}
	return `the error names ${Object.keys(commands).join(" and ")}`;
}

export const checks = {
	"README's installation from a clone": checkClone,
	"documented settings": checkDocumentation,
	"no network in a cell": checkIsolation,
	"platform selection": checkSelection,
	"command line, not installed": checkExecution,
	"quiet at run time": checkQuiet,
	"SDK without transformers.js": checkReplacement,
	"installed with --omit=optional": checkAdvice,
	"addon that may not be loaded": checkForbidden,
};
