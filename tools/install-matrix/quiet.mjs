/** Traces the system calls of a run, which must attempt no connection and write no file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execute } from "../lib/process.mjs";
import { judge } from "./cells.mjs";
import { npmInstaller } from "./installers.mjs";
import { oldestNode } from "./runtimes.mjs";

const CALLS = [
	"%network",
	...["open", "openat", "openat2", "creat", "truncate", "ftruncate"],
	...["mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "mknod", "mknodat"],
	...["rename", "renameat", "renameat2", "link", "linkat"],
	...["symlink", "symlinkat", "memfd_create", "io_uring_setup"],
];

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
	const ended = await workspace.run(
		[
			...["strace", "-f", "-qq", "-o", log, "-e", `trace=${CALLS.join(",")}`],
			// libuv could work through io_uring, which strace does not see.
			...["env", "UV_USE_IO_URING=0"],
			...[...oldestNode.layouts.node_modules, ...args],
		],
		project,
	);
	if (ended.problem) throw new Error(`${ended.problem}\n${ended.stderr}`);
	const calls = callsIn(readFileSync(log, "utf8"));
	const changing = calls.filter((call) => !OPENS.test(call) || WRITES.test(call));
	return { ...ended, calls, changing };
}

/** What is in `calls` more often than in `others`. */
function beyond(calls, others) {
	const rest = [...others];
	return calls.filter((call) => {
		const at = rest.indexOf(call);
		if (at >= 0) rest.splice(at, 1);
		return at < 0;
	});
}

export async function checkQuiet(workspace) {
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
