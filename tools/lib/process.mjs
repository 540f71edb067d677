/** Runs other programs concurrently, with a time limit; none outlives this process. */
import { spawn } from "node:child_process";

const running = new Set();

function end(child) {
	try {
		// The whole process group, including child processes.
		process.kill(-child.pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}

process.on("exit", () => {
	for (const child of running) end(child);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** Starts a program, which runs until `stop` or until this process ends. */
export function startProgram(command, options) {
	const [file, ...args] = command;
	const child = spawn(file, args, {
		stdio: ["ignore", "pipe", "pipe"],
		...options,
		detached: true,
	});
	running.add(child);
	child.on("close", () => running.delete(child));
	const output = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"])
		child[name]?.setEncoding("utf8").on("data", (text) => {
			output[name] += text;
		});
	return { child, output, stop: () => end(child) };
}

/**
 * Runs a program; one that takes longer than `seconds` is killed. `problem` is null if it
 * succeeded, otherwise one line.
 */
export async function execute(command, { seconds = 60, ...options } = {}) {
	const started = performance.now();
	const { child, output, stop } = startProgram(command, options);
	let late = false;
	const timer = setTimeout(() => {
		late = true;
		stop();
	}, seconds * 1000);
	const problem = await new Promise((resolve) => {
		child.on("error", (error) => resolve(error.message));
		child.on("close", (code, signal) => {
			if (late) resolve(`not done after ${seconds} s`);
			else resolve(code === 0 ? null : `ended with ${signal ?? code}`);
		});
	});
	clearTimeout(timer);
	return { ...output, problem, seconds: (performance.now() - started) / 1000 };
}

/** As {@link execute}, but throws unless the program succeeds. */
export async function must(command, options) {
	const ended = await execute(command, options);
	if (ended.problem)
		throw new Error(`${command.join(" ")}: ${ended.problem}\n${tail(ended.stdout + ended.stderr)}`);
	return ended;
}

/** The last lines of an output. */
export function tail(text, lines = 25) {
	return text.trimEnd().split("\n").slice(-lines).join("\n");
}

/** Calls `work` for each of `jobs` in order, `width` at a time; after a failure, for no more of them. */
export async function inTurn(jobs, width, work) {
	const rest = [...jobs];
	const lane = async () => {
		while (rest.length > 0)
			await work(rest.shift()).catch((error) => {
				rest.length = 0;
				throw error;
			});
	};
	await Promise.all(Array.from({ length: width }, lane));
}
