/** Checks besides the matrix. Each returns one line about what it found, or throws. */
import {
	existsSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { host } from "../lib/build.mjs";
import { execute, must } from "../lib/process.mjs";
import { root } from "../lib/run.mjs";
import { INSTALLED_LIMIT } from "../package/check.mjs";
import { checkDocumentation, filesOf } from "./deployments.mjs";
import { cliForms, judge } from "./forms.mjs";
import { cliInstallers, npmInstaller, onnxRuntimes } from "./installers.mjs";
import { sdkInstallers } from "./sdk.mjs";
import { oldestNode, runtimes } from "./tools.mjs";
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

/** The length of all files below a folder, which is not the space that they take on this disk. */
const bytesIn = (folder) =>
	readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

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
		if (!lock.includes(`${PACKAGE}-transformers`) || /onnxruntime-web/.test(lock))
			throw new Error(`${installer.name}: ${file} names the wrong packages`);
	}
	const { folder } = await workspace.project(sdkInstallers[0]);
	// The SDK and what it depends on are not ours to limit.
	const scope = join(folder, "node_modules", dirname(PACKAGE));
	const own = readdirSync(scope).filter((name) => name !== "sdk");
	const size = own.reduce((sum, name) => sum + bytesIn(join(scope, name)), 0);
	if (size > INSTALLED_LIMIT) throw new Error(`${megabytes(size)} installed beside the SDK`);
	return `the real transformers.js is in none of ${sdkInstallers.length} lock files; ${megabytes(size)} installed by npm beside the SDK`;
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

async function watch(workspace, project, args, runtime = oldestNode) {
	const log = join(workspace.folder, "strace.log");
	const strace = ["strace", "-f", "-qq", "-o", log, "-e", `trace=${CALLS}`];
	// Disables io_uring, which strace does not see.
	const node = ["env", "UV_USE_IO_URING=0", ...runtime.layouts.node_modules];
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

/** Scores by default open nothing of ONNX Runtime. */
async function checkNative(workspace) {
	const project = await workspace.project(onnxRuntimes[0].installer);
	for (const runtime of runtimes) {
		const { calls } = await watch(workspace, project, ["batch.mjs"], runtime);
		const opened = calls.filter((call) => /node_modules\/onnxruntime|libonnxruntime/.test(call));
		if (opened.length > 0 || !calls.some((call) => /model\.bin/.test(call)))
			throw new Error(`${runtime.name}: ${opened.join(", ") || "no model is opened"}`);
	}
	return `default scores on ${runtimes.length} runtimes open 0 files of ONNX Runtime`;
}

/** The files of the platform package that a run opens must be those that tools find in the source. */
async function checkTracing(workspace) {
	const project = await workspace.project(onnxRuntimes[0].installer);
	const { calls } = await watch(workspace, project, ["custom.mjs"]);
	const platform = `${PACKAGE}-linux-x64-gnu/`;
	const inPackage = new RegExp(`${platform}([^"]*)`);
	// Libraries of the system are looked for there too.
	const isThere = (name) => existsSync(join(project.folder, "node_modules", platform, name));
	const namesIn = (texts) => {
		const found = texts.flatMap((text) => inPackage.exec(text)?.[1] ?? []);
		return [...new Set(found)].filter(isThere).sort();
	};
	const opened = namesIn(calls);
	const traced = namesIn(await filesOf("custom.mjs", project.folder));
	if (opened.join() !== traced.join())
		throw new Error(`opened: ${opened.join(", ")}; traced: ${traced.join(", ")}`);
	return `${opened.length} files of the platform package are opened, and as many traced: ${opened.join(", ")}`;
}

/** The line of the README that packs a clone and installs it, in a project that has the clone as `scoring`. */
async function checkClone(workspace) {
	if (!existsSync(join(root, "target", host() ?? "", "dist"))) return "packed on another machine";
	const readme = readFileSync(join(root, "README.md"), "utf8");
	const [line] = /^\(cd scoring .*$/m.exec(readme);
	const [, code] = /^```js\n([\s\S]*?)^```/m.exec(readme);
	const cwd = workspace.elsewhere();
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

export const checks = [
	{ name: "README's installation from a clone", check: checkClone },
	{ name: "documented settings", check: checkDocumentation },
	{ name: "file tracing", check: checkTracing },
	{ name: "default scores", check: checkNative },
	{ name: "no network in a cell", check: checkIsolation },
	{ name: "platform selection", check: checkSelection },
	{ name: "command line, not installed", check: checkExecution },
	{ name: "quiet at run time", check: checkQuiet },
	{ name: "SDK without transformers.js", check: checkReplacement },
	{
		name: "SDK without transformers.js and model",
		check: checkReplacementWithoutModel,
	},
];
